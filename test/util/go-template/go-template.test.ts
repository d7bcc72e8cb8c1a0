import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type GoTemplate, parseTemplate } from '../../../src/util/go-template/go-template.ts'
import type { Json } from '../../../src/util/json.ts'
import { CASES } from './cases.ts'

function parsed(source: string): GoTemplate {
  const result = parseTemplate(source)
  assert.ok(result.ok, `refused: ${JSON.stringify(result)}`)
  return result.template
}

function refused(source: string) {
  const result = parseTemplate(source)
  assert.ok(!result.ok, `should have been refused: ${source}`)
  return result
}

function rendered(source: string, data: Json = {}) {
  const result = parsed(source).render(data)
  assert.ok(result.ok, `failed: ${JSON.stringify(result)}`)
  return result
}

function failure(source: string, data: Json = {}, limits = {}): string {
  const result = parsed(source).render(data, limits)
  assert.ok(!result.ok, `should have failed: ${JSON.stringify(result)}`)
  return result.message
}

test('the language is that of Go, with nothing for a missing value', () => {
  for (const [source, input, text] of CASES) {
    const template = parseTemplate(source)
    const result = template.ok ? template.template.render(input) : template
    assert.equal(result.ok ? result.text : undefined, text, `${source}: ${JSON.stringify(result)}`)
  }
})

describe('what cannot be parsed', () => {
  const wrong: readonly [source: string, column: number, message: RegExp][] = [
    ['a{{', 4, /not closed. Fix: end it with }}/],
    ['a{{.x', 6, /not closed/],
    ['--é={{.x', 9, /not closed/],
    ['{{.x}', 5, /"}" cannot follow .x directly/],
    ['{{nope}}', 3, /no function nope. Fix: write .nope for a field; the functions are and, /],
    ['{{lenn .x}}', 3, /did you mean len\?/],
    ['{{$x}}', 3, /\$x is not declared/],
    ['{{if .x}}', 3, /{{if}} is not closed/],
    ['{{end}}', 3, /{{end}} stands without/],
    ['{{else}}', 3, /{{else}} stands without/],
    ['{{if .x}}{{else}}{{else}}{{end}}', 20, /second {{else}}/],
    ['{{break}}', 3, /outside {{range}}/],
    ['{{(.x}}', 6, /parenthesis is not closed/],
    ['{{.x)}}', 5, /\) without its \(/],
    ['{{"abc}}', 3, /not closed on its line/],
    ['{{"a\\q"}}', 3, /escape/],
    ["{{'ab'}}", 3, /not exactly one character/],
    ['{{99999999999999999999}}', 3, /too large/],
    ['{{}}', 3, /value is missing/],
    ['{{if}}{{end}}', 5, /value is missing/],
    ['{{.x | 1}}', 8, /only a function/],
    ['{{.x, .y}}', 5, /, cannot stand right after a value/],
    ['{{$x, $y := .x}}', 5, /too many variables/],
    ['{{/* a }}', 3, /comment is not closed/],
    ['{{ 1.x }}', 4, /begins no valid number/],
    ['{{"a".x}}', 6, /a field cannot follow/],
    ['{{define "a"}}{{end}}', 3, /{{define}} is not available/],
    ['{{template "a"}}', 3, /{{template}} is not available/],
    ['{{block "a" .}}{{end}}', 3, /{{block}} is not available/],
    ['{{call .x}}', 3, /call is not available/],
  ]
  for (const [source, column, message] of wrong) {
    test(`${source} is refused at column ${column}`, () => {
      const result = refused(source)
      assert.match(result.message, message)
      assert.deepEqual([result.line, result.column], [1, column], result.message)
    })
  }

  test('lines count, and columns are characters', () => {
    assert.deepEqual(refused('😀\n日本😀{{nope}}').line, 2)
    assert.deepEqual(refused('😀\n日本😀{{nope}}').column, 6)
  })

  test('nesting without end is refused', () => {
    assert.match(refused(`{{${'('.repeat(5000)}1${')'.repeat(5000)}}}`).message, /nested more than/)
    assert.match(refused(`${'{{if 1}}'.repeat(5000)}${'{{end}}'.repeat(5000)}`).message, /nested more than/)
  })
})

describe('what cannot be rendered', () => {
  test('says where, and what to do', () => {
    assert.equal(
      failure('--n={{if eq .n 1}}a{{end}}', { n: 1 }),
      'column 10: float64 and int cannot be compared. Fix: numbers of the input are float64: write 1.0 for 1',
    )
    assert.match(failure('a\n{{.x.y}}', { x: 1 }), /^line 2, column 3: float64 has no field y. Fix/)
  })

  test('text that is not UTF-8 is refused', () => {
    assert.match(failure('{{slice .x 0 1}}', { x: 'é' }), /not UTF-8/)
  })

  test('an address is refused', () => {
    assert.match(failure('{{printf "%p" .}}'), /address/)
  })

  test('endless loops and endless text end', () => {
    assert.match(failure('{{range 9223372036854775807}}{{end}}'), /more than 200000 steps/)
    assert.match(
      failure('{{range .}}{{range $}}{{range $}}{{end}}{{end}}{{end}}', Array(1000).fill(0)),
      /steps/,
    )
    assert.match(failure('{{range 1000000}}aaaaaaaaaaaaaaaa{{end}}'), /131071 bytes/)
    assert.match(failure('{{printf "%1000000d" 1}}'), /131071 bytes/)
    assert.match(failure('{{len (printf "%.1000000f" 1.0)}}'), /131071 bytes/)
    assert.match(failure('{{.}}', 'a'.repeat(11), { maxBytes: 10 }), /10 bytes/)
    assert.match(failure('{{range 100}}{{len $.x}}{{end}}', { x: 'a'.repeat(1_000_000) }), /steps/)
    assert.match(failure('{{range 100}}{{.}}{{end}}', {}, { maxSteps: 50 }), /50 steps/)
    const wide = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`k${at}`, at]))
    assert.match(failure('{{range 100000}}{{if $}}{{len $}}{{end}}{{end}}', wide), /steps/)
    assert.match(failure('{{printf .x}}', { x: '%['.repeat(200_000) }), /131071 bytes/)
  })

  test('a value that is deep beyond reason is refused', () => {
    const deep = JSON.parse('['.repeat(5000) + ']'.repeat(5000)) as Json
    assert.match(failure('{{.}}', deep), /levels/)
    assert.match(failure('{{json .}}', deep), /levels/)
  })

  test('names of prototypes are names like others', () => {
    assert.equal(rendered('{{.constructor}}{{.toString}}{{index . "__proto__"}}').text, '')
    assert.match(refused('{{constructor}}').message, /no function constructor/)
  })
})

describe('whether the first character is from input', () => {
  const x = { x: '-rf', y: 'é', list: ['-a'], map: { '-k': 1 } }
  const cases: readonly [source: string, fromInput: boolean][] = [
    ['', false],
    ['-x', false],
    ['--name={{.x}}', false],
    ['{{.x}}', true],
    ['{{.missing}}{{.x}}', true],
    ['{{.missing}}-x', false],
    ['{{/* c */}}{{- .x}}', true],
    ['{{"-x"}}{{.x}}', false],
    ['{{if .x}}-v{{end}}', false],
    ['{{if .x}}{{"-v"}}{{else}}{{.x}}{{end}}', false],
    ['{{.missing | default "-v"}}', false],
    ['{{.x | default "-v"}}', true],
    ['{{or .missing "-v"}}', false],
    ['{{or .x "-v"}}', true],
    ['{{print .x}}', true],
    ['{{print "-v" .x}}', false],
    ['{{print "" .x}}', true],
    ['{{printf "--name=%s" .x}}', false],
    ['{{printf "%s-" .x}}', true],
    ['{{printf "%s%s" "" .x}}', true],
    ['{{printf "%s%s" "-" .x}}', false],
    ['{{printf .x}}', true],
    ['{{printf "%-*d" (len .x) 1}}', true],
    ['{{slice "a-b" 1}}', false],
    ['{{slice "a-b" (len .y)}}', true],
    ['{{slice (print "--" .x) 1}}', false],
    ['{{slice (print "--" .x) 2}}', true],
    ['{{printf "%c" (index "-" 0)}}', false],
    ['{{printf "%c" (index .x 0)}}', true],
    ['{{$v := "-v"}}{{$v}}', false],
    ['{{$v := "-v"}}{{$v = .x}}{{$v}}', true],
    ['{{range .list}}{{.}}{{end}}', true],
    ['{{range $k, $v := .map}}{{$k}}{{end}}', true],
    ['{{range $k, $v := .map}}-k{{end}}', false],
    ['{{with .x}}{{.}}{{end}}', true],
    ['{{index .map "-k"}}', true],
    ['{{html .x}}', true],
    ['{{js "-"}}', false],
    ['{{json .x}}', true],
    ['{{len .x}}', true],
  ]
  for (const [source, fromInput] of cases) {
    test(`${JSON.stringify(source)}: ${fromInput}`, () => {
      assert.equal(rendered(source, x).fromInput, fromInput)
    })
  }
})
