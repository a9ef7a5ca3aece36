package sheet

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
)

// A workbook that this package writes ends with a seal: a comment of the archive with the SHA-256
// of everything before it. Any program that saves the workbook again drops the seal, and any other
// change breaks it.

const sealPrefix = "bulkfiling sha256:"

// archiveEnd is the length of an archive's last record without its comment. Its last two bytes are
// the length of the comment.
const archiveEnd = 22

// seal adds the seal to a finished archive without a comment.
func seal(file *os.File) error {
	size, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	sum, err := hashOf(io.NewSectionReader(file, 0, size-2))
	if err != nil {
		return err
	}
	comment := sealPrefix + sum
	tail := append(binary.LittleEndian.AppendUint16(nil, uint16(len(comment))), comment...)
	_, err = file.WriteAt(tail, size-2)
	return err
}

func hashOf(r io.Reader) (string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, r); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// HashFile returns the SHA-256 of a file.
func HashFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	return hashOf(file)
}

// IsUnedited reports whether this package wrote the workbook and no program has changed it since.
func IsUnedited(path string) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	stat, err := file.Stat()
	if err != nil {
		return false, err
	}
	length := int64(len(sealPrefix) + 2*sha256.Size)
	start := stat.Size() - length
	if start < archiveEnd {
		return false, nil
	}
	comment := make([]byte, length)
	if _, err := file.ReadAt(comment, start); err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read %s: %w", path, err)
	}
	if !bytes.HasPrefix(comment, []byte(sealPrefix)) {
		return false, nil
	}
	sum, err := hashOf(io.NewSectionReader(file, 0, start-2))
	return sum == string(comment[len(sealPrefix):]), err
}
