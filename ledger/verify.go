package ledger

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// ReadAudit reads the log at path, the oldest file that is kept first, and calls
// each for every record. It follows the chain: an error says in which line of
// which file it breaks. An error of each ends it.
func ReadAudit(path string, each func(Record) error) error {
	files, err := auditFiles(path)
	if err != nil {
		return err
	}
	var c chain
	for _, file := range files {
		if err := c.read(file, each); err != nil {
			return err
		}
	}
	return nil
}

// auditFiles lists the files of the log, oldest first.
func auditFiles(path string) ([]string, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	files := []string{path}
	for i := 1; ; i++ {
		if _, err := os.Stat(rotated(path, i)); err != nil {
			return files, nil
		}
		files = append([]string{rotated(path, i)}, files...)
	}
}

// chain is what the lines so far have come to.
type chain struct {
	seq  uint64
	hash string
}

func (c *chain) read(file string, each func(Record) error) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, maxLine)
	for n := 1; ; n++ {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s, line %d: the line does not end: %w", file, n, err)
		}
		r, err := c.next(line[:len(line)-1])
		if err != nil {
			return fmt.Errorf("%s, line %d: %w", file, n, err)
		}
		if err := each(r); err != nil {
			return err
		}
	}
}

// next takes one line. The first of all may be anywhere in a chain, since old
// files are removed; the first record of a whole chain has the number 1.
func (c *chain) next(line []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("no record: %w", err)
	}
	switch {
	case c.seq == 0 && r.Seq == 0, c.seq == 0 && r.Seq == 1 && r.Prev != "":
		return r, errors.New("no beginning of a chain")
	case c.seq != 0 && r.Seq != c.seq+1:
		return r, fmt.Errorf("record %d comes after record %d", r.Seq, c.seq)
	case c.seq != 0 && r.Prev != c.hash:
		return r, fmt.Errorf("record %d was changed, or the one after it", c.seq)
	}
	c.seq, c.hash = r.Seq, hashOf(line)
	return r, nil
}
