package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// exampleJSON holds every key with its default: it is the one list of them.
//
//go:embed config.example.json
var exampleJSON []byte

// settings reads the configuration: file, then variables, then flags.
type settings struct {
	file  string
	flags *pflag.FlagSet
	keys  map[string]any // every key with its default
}

func addSettings(flags *pflag.FlagSet) *settings {
	keys, err := flatten(exampleJSON)
	if err != nil {
		panic("config.example.json: " + err.Error()) // a programmer's mistake: a test reads it
	}
	s := &settings{flags: flags, keys: keys}
	flags.StringVar(&s.file, "config", "", "JSON `FILE` of settings (config.example.json has them all)")
	for _, key := range s.names() {
		flags.String(flagName(key), "", fmt.Sprintf("setting %s (default %s)", key, text(keys[key])))
		if _, truth := keys[key].(bool); truth {
			flags.Lookup(flagName(key)).NoOptDefVal = "true"
		}
	}
	return s
}

func (s *settings) names() []string {
	names := make([]string, 0, len(s.keys))
	for key := range s.keys {
		names = append(names, key)
	}
	slices.Sort(names)
	return names
}

func flagName(key string) string { return strings.NewReplacer(".", "-", "_", "-").Replace(key) }

func variable(key string) string {
	return "SALLYPORT_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

func text(value any) string {
	raw, _ := json.Marshal(value)
	return string(raw)
}

func environ() []string { return os.Environ() }

// load reads and checks everything.
func (s *settings) load(environment []string) (Config, error) {
	v := viper.New()
	for key, value := range s.keys {
		v.SetDefault(key, value)
	}
	if s.file != "" {
		if err := s.loadFile(v); err != nil {
			return Config{}, err
		}
	}
	if err := s.loadVariables(v, environment); err != nil {
		return Config{}, err
	}
	for _, key := range s.names() {
		if flag := s.flags.Lookup(flagName(key)); flag.Changed {
			value, err := s.parse(key, flag.Value.String())
			if err != nil {
				return Config{}, usageError{fmt.Errorf("--%s: %w", flag.Name, err)}
			}
			v.Set(key, value)
		}
	}
	for _, key := range []string{"prompt.timeout", "navigate.timeout", "lease.ttl"} {
		if _, err := duration(key, v.GetString(key)); err != nil {
			return Config{}, err
		}
	}
	var c Config
	if err := v.UnmarshalExact(&c); err != nil {
		return Config{}, fmt.Errorf("reading the settings: %w", err)
	}
	return c, c.validate()
}

func (s *settings) loadFile(v *viper.Viper) error {
	raw, err := os.ReadFile(s.file)
	if err != nil {
		return fmt.Errorf("reading --config: %w", err)
	}
	given, err := flatten(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", s.file, err)
	}
	for key, value := range given {
		if err := s.check(key, value); err != nil {
			return fmt.Errorf("%s: %w", s.file, err)
		}
		v.Set(key, value)
	}
	return nil
}

func (s *settings) loadVariables(v *viper.Viper, environment []string) error {
	byVariable := map[string]string{}
	for key := range s.keys {
		byVariable[variable(key)] = key
	}
	for _, entry := range environment {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "SALLYPORT_") || strings.HasPrefix(name, "SALLYPORT_TEST_") {
			continue
		}
		key, known := byVariable[name]
		if !known {
			return fmt.Errorf("%s: %w", name, s.unknown(strings.ToLower(strings.TrimPrefix(name, "SALLYPORT_"))))
		}
		parsed, err := s.parse(key, value)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		v.Set(key, parsed)
	}
	return nil
}

// check holds a value of the file against the type of its key's default.
func (s *settings) check(key string, value any) error {
	standard, known := s.keys[key]
	if !known {
		return s.unknown(key)
	}
	ok, wanted := false, ""
	switch standard.(type) {
	case bool:
		_, ok = value.(bool)
		wanted = "true or false"
	case float64:
		n, number := value.(float64)
		ok, wanted = number && n == float64(int(n)), "a whole number"
	case []any:
		list, isList := value.([]any)
		ok, wanted = isList, "a list of strings"
		for _, one := range list {
			if _, text := one.(string); !text {
				ok = false
			}
		}
	case string:
		_, ok = value.(string)
		wanted = "a string"
		if key == "ledger.max_size" && !ok {
			_, ok = value.(float64)
		}
	}
	if !ok {
		return fmt.Errorf("%s must be %s, not %s", key, wanted, text(value))
	}
	return nil
}

// parse reads a variable's or a flag's text as the type of its key.
func (s *settings) parse(key, given string) (any, error) {
	switch s.keys[key].(type) {
	case bool:
		truth, err := strconv.ParseBool(given)
		if err != nil {
			return nil, fmt.Errorf("%s must be true or false, not %q", key, given)
		}
		return truth, nil
	case float64:
		n, err := strconv.Atoi(given)
		if err != nil {
			return nil, fmt.Errorf("%s must be a whole number, not %q", key, given)
		}
		return n, nil
	case []any:
		if given == "" {
			return []string{}, nil
		}
		return strings.Split(given, ","), nil
	}
	return given, nil
}

// unknown explains a key that does not exist, and above all one that would
// approve domains without a person.
func (s *settings) unknown(key string) error {
	for _, word := range []string{"allow", "domain", "approve", "skip", "trust", "prompt_"} {
		if strings.Contains(strings.ToLower(key), word) {
			return fmt.Errorf("%s: there is no setting that approves domains: a person does, in the browser, in each session; remove it (the standalone probe has probe.domains)", key)
		}
	}
	nearest, distance := "", 4
	for _, known := range s.names() {
		if d := editDistance(key, known); d < distance {
			nearest, distance = known, d
		}
	}
	if nearest != "" {
		return fmt.Errorf("%s is no setting; did you mean %s?", key, nearest)
	}
	return fmt.Errorf("%s is no setting; config.example.json has them all", key)
}

// explainFlag says of a flag that would approve domains what unknown says.
func explainFlag(err error) error {
	message := err.Error()
	for _, word := range []string{"allow", "domain", "approve", "skip", "yes"} {
		if strings.Contains(message, "unknown flag") && strings.Contains(message, word) {
			return fmt.Errorf("%s: there is no flag that approves domains: a person does, in the browser, in each session", message)
		}
	}
	return err
}

// flatten reads a JSON object of objects into "a.b_c" keys. Repeated keys are
// errors, since one of them would be ignored.
func flatten(raw []byte) (map[string]any, error) {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	flat := map[string]any{}
	if err := flattenObject(d, "", flat); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something after the end of the object")
	}
	return flat, nil
}

func flattenObject(d *json.Decoder, prefix string, flat map[string]any) error {
	open, err := d.Token()
	if err != nil {
		return fmt.Errorf("not valid JSON: %w", err)
	}
	if open != json.Delim('{') {
		return fmt.Errorf("%s must be an object", strings.TrimSuffix("the file."+prefix, "."))
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return fmt.Errorf("not valid JSON: %w", err)
		}
		key := prefix + name.(string)
		if _, twice := flat[key]; twice {
			return fmt.Errorf("%s is there twice", key)
		}
		if prefix == "" && knownGroup(key) {
			if err := flattenObject(d, key+".", flat); err != nil {
				return err
			}
			continue
		}
		var value any
		if err := d.Decode(&value); err != nil {
			return fmt.Errorf("%s: not valid JSON: %w", key, err)
		}
		flat[key] = value
	}
	if _, err = d.Token(); err != nil {
		return fmt.Errorf("not valid JSON: %w", err)
	}
	return nil
}

func knownGroup(name string) bool {
	return slices.Contains([]string{"browser", "proxy", "prompt", "navigate", "lease", "ledger", "log", "host", "probe", "metrics"}, name)
}

// editDistance counts the single changes between two short words.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}

// duration reads a setting that is Go's kind of duration.
func duration(key, given string) (time.Duration, error) {
	d, err := time.ParseDuration(given)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%s must be a duration such as \"90s\", not %q", key, given)
	}
	return d, nil
}
