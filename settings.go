package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
	given map[string]origin
}

// origin is where a value that is no default came from.
type origin struct {
	name string // the file, the variable or the flag
	flag bool
}

// blame makes an error of a value, which begins with its key, name the source too.
func (s *settings) blame(err error) error {
	for key, from := range s.given {
		rest, is := strings.CutPrefix(err.Error(), key)
		switch {
		case !is || rest == "" || !strings.ContainsAny(rest[:1], " :["): // the key of another
		case from.flag:
			return usageError{fmt.Errorf("%s: %w", from.name, err)}
		default:
			return fmt.Errorf("%s: %w", from.name, err)
		}
	}
	return err
}

// durations are the settings that are text which Go reads as one.
var durations = []string{"prompt.timeout", "navigate.timeout", "lease.ttl"}

func addSettings(flags *pflag.FlagSet) *settings {
	keys, err := flatten(exampleJSON)
	if err != nil {
		panic("config.example.json: " + err.Error()) // a programmer's mistake: a test reads it
	}
	s := &settings{flags: flags, keys: keys, given: map[string]origin{}}
	flags.StringVar(&s.file, "config", "", "JSON `FILE` of settings, such as sallyport config example prints")
	for _, key := range s.names() {
		usage := fmt.Sprintf("%s (default %s)", sentences[key], text(keys[key]))
		if _, list := keys[key].([]any); list {
			flags.StringArray(flagName(key), nil, usage) // given twice, it adds up
			continue
		}
		flags.String(flagName(key), "", usage)
		if _, truth := keys[key].(bool); truth {
			flags.Lookup(flagName(key)).NoOptDefVal = "true"
		}
	}
	return s
}

func (s *settings) names() []string {
	return slices.Sorted(maps.Keys(s.keys))
}

func flagName(key string) string { return strings.NewReplacer(".", "-", "_", "-").Replace(key) }

func variable(key string) string {
	return "SALLYPORT_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

func text(value any) string {
	raw, _ := json.Marshal(value)
	return string(raw)
}

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
	if err := s.loadFlags(v); err != nil {
		return Config{}, err
	}
	for _, key := range durations {
		if err := duration(key, v.GetString(key)); err != nil {
			return Config{}, s.blame(err)
		}
	}
	var c Config
	if err := v.UnmarshalExact(&c); err != nil {
		return Config{}, fmt.Errorf("reading the settings: %w", err)
	}
	if err := c.validate(); err != nil {
		return Config{}, s.blame(err)
	}
	return c, nil
}

func (s *settings) loadFile(v *viper.Viper) error {
	raw, err := os.ReadFile(s.file)
	if err != nil {
		return fmt.Errorf("reading --config: %w", err)
	}
	given, err := flatten(bytes.TrimPrefix(raw, []byte("\ufeff"))) // the mark that some editors begin a file with
	if err != nil {
		return fmt.Errorf("%s: %w", s.file, err)
	}
	for _, key := range slices.Sorted(maps.Keys(given)) { // the same error each time
		if empty, is := given[key].(map[string]any); is && len(empty) == 0 && s.group(key) {
			continue
		}
		if err := s.check(key, given[key]); err != nil {
			return fmt.Errorf("%s: %w", s.file, err)
		}
		v.Set(key, given[key])
		s.given[key] = origin{name: s.file}
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
		switch {
		case name == "SALLYPORT_CONFIG":
			return errors.New("SALLYPORT_CONFIG is no setting; use --config FILE")
		case !known:
			return explain(name, slices.Sorted(maps.Keys(byVariable)))
		}
		parsed, err := s.parse(key, value)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		v.Set(key, parsed)
		s.given[key] = origin{name: name}
	}
	return nil
}

func (s *settings) loadFlags(v *viper.Viper) error {
	for _, key := range s.names() {
		flag := s.flags.Lookup(flagName(key))
		if !flag.Changed {
			continue
		}
		given := flag.Value.String()
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			given = strings.Join(list.GetSlice(), ",")
		}
		value, err := s.parse(key, given)
		if err != nil {
			return usageError{fmt.Errorf("--%s: %w", flag.Name, err)}
		}
		v.Set(key, value)
		s.given[key] = origin{"--" + flag.Name, true}
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
		if slices.Contains(durations, key) {
			wanted = aDuration
		}
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
		list := strings.Split(given, ",")
		for i := range list {
			list[i] = strings.TrimSpace(list[i])
		}
		return list, nil
	}
	return given, nil
}

const aDuration = `a duration such as "90s"`

// duration checks a setting that is Go's kind of duration.
func duration(key, given string) error {
	if d, err := time.ParseDuration(given); err != nil || d <= 0 {
		return fmt.Errorf("%s must be %s, not %q", key, aDuration, given)
	}
	return nil
}
