package mcpfront

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLine is the longest message, in bytes, without its newline.
const maxLine = 4 << 20

// errLongLine is a line over maxLine. The reader is then at the next line.
var errLongLine = errors.New("the message is longer than 4 MiB")

// skipMark takes the byte order mark off that some programs begin a stream of
// UTF-8 with. A single first byte tells whether to wait for the rest of one.
func skipMark(r *bufio.Reader) {
	const mark = "\ufeff"
	for n := 1; n <= len(mark); n++ {
		if head, err := r.Peek(n); err != nil || string(head) != mark[:n] {
			return // an error comes again, at the next read
		}
	}
	_, _ = r.Discard(len(mark))
}

// readLine returns the next line without its newline. A last line may lack one.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if !long {
			line = append(line, part...)
			if len(bytes.TrimSuffix(line, []byte{'\n'})) > maxLine {
				line, long = nil, true
			}
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case long:
			return nil, errLongLine
		case err != nil && len(line) == 0:
			return nil, io.EOF
		case err != nil:
			return line, nil
		}
		return line[:len(line)-1], nil
	}
}
