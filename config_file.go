package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxDepth of nested objects; settings have two.
const maxDepth = 8

// flatten reads a JSON object into "a.b_c" keys. It is stricter than
// encoding/json: what stands there twice is an error, since one of the two would
// be ignored. An object without members is kept as one, so that its name is
// checked too.
func flatten(raw []byte) (map[string]any, error) {
	var whole json.RawMessage
	if err := json.Unmarshal(raw, &whole); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			line := 1 + bytes.Count(raw[:min(int(syntax.Offset), len(raw))], []byte("\n"))
			return nil, fmt.Errorf("line %d is not valid JSON: %w", line, err)
		}
		return nil, fmt.Errorf("not valid JSON: %w", err)
	}
	if whole[0] != '{' {
		return nil, errors.New("the file must hold one JSON object, such as {\"log\": {\"level\": \"debug\"}}")
	}
	flat := map[string]any{}
	if err := flattenObject(json.NewDecoder(bytes.NewReader(raw)), nil, flat); err != nil {
		return nil, err
	}
	return flat, nil
}

// flattenObject reads the object that comes next.
func flattenObject(d *json.Decoder, path []string, flat map[string]any) error {
	if _, err := d.Token(); err != nil {
		return err
	}
	if len(path) > maxDepth {
		return fmt.Errorf("%s... is nested too deeply", strings.Join(path[:2], "."))
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		key := strings.Join(append(slices.Clone(path), name), ".")
		switch {
		case seen[name]:
			return fmt.Errorf("%s is there twice; keep one", shown(key))
		case preApproves(key):
			return errPreApproval(key)
		case name == "" || strings.Contains(name, "."):
			return fmt.Errorf("%q is no name of a setting; nest it, such as {\"log\": {\"level\": \"debug\"}}", name)
		}
		seen[name] = true
		if err := flattenValue(d, append(slices.Clone(path), name), flat); err != nil {
			return err
		}
	}
	if len(seen) == 0 && len(path) > 0 {
		flat[strings.Join(path, ".")] = map[string]any{}
	}
	_, err := d.Token()
	return err
}

func flattenValue(d *json.Decoder, path []string, flat map[string]any) error {
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return err
	}
	if len(raw) > 0 && raw[0] == '{' {
		return flattenObject(json.NewDecoder(bytes.NewReader(raw)), path, flat)
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return fmt.Errorf("%s: %w", shown(strings.Join(path, ".")), err)
	}
	flat[strings.Join(path, ".")] = value
	return nil
}
