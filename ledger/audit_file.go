package ledger

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
)

// maxLine bounds one line of the log, for whoever reads it.
const maxLine = 1 << 20

// write appends records to the file, as the next links of the chain that is in it.
// All or nothing: a batch that can't be written whole is taken back.
func (a *Audit) write(batch []Record) error {
	f, err := openLocked(a.cfg.Path)
	if err != nil {
		return fmt.Errorf("opening the audit log: %w", err)
	}
	defer f.Close() // ends the lock
	end, err := readEnd(f)
	if err != nil {
		return fmt.Errorf("reading the end of the audit log %s: %w", a.cfg.Path, err)
	}
	if end.cut > 0 {
		if err := f.Truncate(end.size); err != nil {
			return err
		}
	}
	if end.size > 0 && end.size >= a.cfg.MaxSize {
		return a.rotate(batch, end)
	}
	return a.extend(f, end, batch)
}

// rotate moves the full file aside and goes on in a new one, whose first line
// follows the last of the old one.
func (a *Audit) rotate(batch []Record, end fileEnd) error {
	a.log.Info("audit log rotated", "path", a.cfg.Path, "head", end.hash)
	for i := a.cfg.Keep; i >= 1; i-- {
		from := a.cfg.Path
		if i > 1 {
			from = rotated(a.cfg.Path, i-1)
		}
		if err := os.Rename(from, rotated(a.cfg.Path, i)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("rotating the audit log: %w", err)
		}
	}
	f, err := openLocked(a.cfg.Path)
	if err != nil {
		return fmt.Errorf("opening a new audit log: %w", err)
	}
	defer f.Close()
	now, err := readEnd(f)
	if err != nil {
		return err
	}
	if now.seq == 0 { // another process may have been first
		now.seq, now.hash, now.cut = end.seq, end.hash, end.cut
	}
	return a.extend(f, now, batch)
}

func rotated(path string, i int) string { return path + "." + strconv.Itoa(i) }

// extend writes the batch after end.
func (a *Audit) extend(f *os.File, end fileEnd, batch []Record) error {
	var out bytes.Buffer
	seq, hash := end.seq, end.hash
	for i, r := range batch {
		seq++
		r.Seq, r.Prev = seq, hash
		if i == 0 {
			r.Cut = end.cut
		}
		line, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("writing a record: %w", err)
		}
		hash = hashOf(line)
		out.Write(line)
		out.WriteByte('\n')
	}
	if _, err := f.WriteAt(out.Bytes(), end.size); err != nil {
		return errors.Join(fmt.Errorf("writing the audit log: %w", err), f.Truncate(end.size))
	}
	a.head = hash
	return nil
}

// fileEnd is where the next line goes.
type fileEnd struct {
	size int64 // of the whole lines
	cut  int64 // bytes after them: a line that was never finished
	seq  uint64
	hash string
}

// readEnd reads the last whole line of a file.
func readEnd(f *os.File) (fileEnd, error) {
	info, err := f.Stat()
	if err != nil {
		return fileEnd{}, err
	}
	start := max(0, info.Size()-2*maxLine) // a whole line is in it, and half a one
	tail := make([]byte, info.Size()-start)
	if _, err := io.ReadFull(io.NewSectionReader(f, start, int64(len(tail))), tail); err != nil {
		return fileEnd{}, err
	}
	last := bytes.LastIndexByte(tail, '\n')
	end := fileEnd{size: start + int64(last) + 1, cut: int64(len(tail) - last - 1)}
	if last < 0 {
		if start > 0 {
			return fileEnd{}, errors.New("its last line is too long")
		}
		return end, nil
	}
	line := tail[bytes.LastIndexByte(tail[:last], '\n')+1 : last]
	var r Record
	if err := json.Unmarshal(line, &r); err != nil || r.Seq == 0 {
		return fileEnd{}, errors.New("its last line is no record; move the file away")
	}
	end.seq, end.hash = r.Seq, hashOf(line)
	return end, nil
}

func hashOf(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}
