// Templates at random: sound ones from a grammar, and ones that are only made of the right pieces.
import fc from 'fast-check'
import { text } from './arbitrary-data.ts'

type Text = fc.Arbitrary<string>

const join = (...parts: (Text | string)[]): Text =>
  fc
    .tuple(...parts.map((part) => (typeof part === 'string' ? fc.constant(part) : part)))
    .map((all) => all.join(''))
const oneOf = (...weighted: (readonly [weight: number, arbitrary: Text])[]): Text =>
  fc.oneof(...weighted.map(([weight, arbitrary]) => ({ weight, arbitrary })))
const some = (...texts: string[]): Text => fc.constantFrom(...texts)
const maybe = (part: Text): Text => oneOf([1, part], [1, fc.constant('')])

/** Go's literal for a text. JSON's escapes are Go's, too; Go wants to see what cannot be seen. */
const quoted = (one: string): string => JSON.stringify(one)

const stringLiteral: Text = oneOf(
  [8, text.map(quoted)],
  [4, text.filter((one) => !one.includes('`')).map((one) => `\`${one}\``)],
  [1, some('"\\x41\\101\\u00e9\\U0001F600"', '"\\xff"', '"\\a\\b\\f\\n\\r\\t\\v\\\\"')],
)
const smallNumber = some(
  '0',
  '1',
  '2',
  '3',
  '-1',
  '0x2',
  '0b11',
  '0o3',
  '01',
  '1.0',
  '2.5',
  '1e0',
  '.5',
  '1i',
)
const constant: Text = oneOf([3, smallNumber], [1, some('true', 'false', 'nil')], [4, stringLiteral])
const field = some('.s', '.n', '.b', '.z', '.l', '.m', '.a', '.é', '.missing')
const simple: Text = oneOf(
  [5, some('.s', '.n', '.b', '.l', '.m', '.a', '.z', '.missing')],
  [2, some('.', '$', '$x', '$y', '$.s', '$.l')],
  [1, join(some('.m', '.missing', '$.m', '$y', '.a'), field)],
  [3, constant],
)

const directive: Text = join(
  '%',
  fc.string({ unit: fc.constantFrom(...'#0+- '), maxLength: 2 }),
  some('', '', '', '', '', '', '[1]', '[2]', '[3]', '[9]', '[]', '[x]', '['),
  some('', '', '', '1', '5', '12', '*', '05'),
  some('', '', '', '.', '.0', '.1', '.3', '.10', '.30', '.*', '.[1]*'),
  some('', '', '', '', '', '', '[1]', '[2]'),
  fc.constantFrom(...'vvvvsssqqdddxXtTfFeEgGbcoOUw%z!é'),
)

export const format: Text = fc
  .array(oneOf([3, directive], [1, text]), { maxLength: 4 })
  .map((parts) => parts.join(''))

function operandOf(depth: number): Text {
  if (depth === 0) return simple
  return oneOf(
    [6, simple],
    [2, join('(', pipelineOf(depth - 1), ')')],
    [1, join('(', pipelineOf(depth - 1), ')', field)],
  )
}

function callOf(depth: number): Text {
  const operand = operandOf(depth)
  const whole = some('0', '1', '2', '(len .s)', '(len .l)', "'\\x01'")
  const args = (minLength: number, maxLength: number, of: Text = operand): Text =>
    fc.array(of, { minLength, maxLength }).map((all) => all.map((one) => ` ${one}`).join(''))
  return oneOf(
    [4, join(some('print', 'println', 'html', 'js', 'urlquery'), args(0, 3))],
    [4, join('printf ', format.map(quoted), args(0, 3))],
    [
      2,
      join(
        'index ',
        some('.l', '.m', '.a', '.s', '$y', '.'),
        args(0, 2, oneOf([1, whole], [1, stringLiteral])),
      ),
    ],
    [2, join('slice ', some('.l', '.s', '(slice .l 0 1)', '"héllo"', '$y'), args(0, 3, whole))],
    [3, join(some('and', 'or', 'eq'), args(1, 3))],
    [
      2,
      join(
        some('eq', 'ne', 'lt', 'le', 'gt', 'ge'),
        args(2, 2, some('.s', '.n', '"a"', '1', '1.0', '(len .l)', '.z')),
      ),
    ],
    [2, join(some('ne', 'lt', 'le', 'gt', 'ge', 'default', 'default'), args(2, 2))],
    [3, join(some('len', 'not', 'json', 'json'), args(1, 1))],
    [1, join(some('len', 'not', 'json', 'eq', 'lt', 'printf', 'and', 'default', 'slice'), args(0, 3))],
  )
}

function pipelineOf(depth: number): Text {
  const command = oneOf([3, operandOf(depth)], [4, callOf(depth)])
  const next = oneOf(
    [
      3,
      some(
        'print',
        'html',
        'js',
        'json',
        'len',
        'not',
        'printf "%v"',
        'printf "%q %[1]v"',
        'default "d"',
        'urlquery',
      ),
    ],
    [1, callOf(depth)],
  )
  return oneOf(
    [4, command],
    [2, join(command, some('|', ' | '), next)],
    [1, join(command, '|', next, '|', next)],
  )
}

const action = (inside: Text): Text =>
  join(some('{{', '{{', '{{', '{{- ', '{{ '), inside, some('}}', '}}', '}}', ' -}}', '  -}}', ' }}', '\n}}'))

function blockOf(depth: number, isLoop: boolean): Text {
  const pipeline = pipelineOf(1)
  const list = listOf(depth - 1, isLoop)
  const inside = listOf(depth - 1, true)
  const end = action(fc.constant('end'))
  const other = maybe(join(action(fc.constant('else')), list))
  const loop = oneOf(
    [3, some('.l', '.m', '.a', '3', '(len .l)', '(index .s 0)', '$y', '.missing')],
    [1, pipeline],
  )
  const names = some('', '', '$x := ', '$x, $y := ', '$e := ', '$x = ', '$x, $y = ', '$i, $y := ', '$x, ')
  return oneOf(
    [
      2,
      join(
        action(join('if ', pipeline)),
        list,
        maybe(join(action(join('else if ', pipeline)), list)),
        other,
        end,
      ),
    ],
    [
      2,
      join(
        action(join('with ', pipeline)),
        list,
        maybe(join(action(join('else with ', pipeline)), list)),
        other,
        end,
      ),
    ],
    [1, join(action(join(some('with $y := ', 'if $x := '), pipeline)), list, other, end)],
    [4, join(action(join('range ', names, loop)), inside, other, end)],
  )
}

function listOf(depth: number, isLoop: boolean): Text {
  const variable = some('$x', '$y')
  const node = oneOf(
    [
      3,
      some(
        'text',
        ' ',
        '\n  ',
        '-',
        '--x=',
        '{',
        '}',
        '}}',
        'é',
        ' \t{{/* note */}} ',
        ' {{- /* note */ -}} ',
      ),
    ],
    [6, action(pipelineOf(2))],
    [2, action(join(variable, some(' := ', ' = ', ':= '), pipelineOf(1)))],
    [isLoop ? 1 : 0, some('{{break}}', '{{continue}}', '{{if .}}{{break}}{{end}}', '{{ continue -}} ')],
    [depth > 0 ? 4 : 0, depth > 0 ? blockOf(depth, isLoop) : fc.constant('')],
  )
  return fc.array(node, { maxLength: 3 }).map((all) => all.join(''))
}

/** Sound, but for what goes wrong when it is rendered. */
export const template: Text = join(
  some('{{$x := 1}}{{$y := .l}}', '{{$x := .a}}{{$y := .m}}', '{{$x := .s}}{{$y := "é"}}'),
  listOf(2, false),
)

export const numberLiteral: Text = oneOf(
  [1, fc.string({ unit: fc.constantFrom(...'0123456789abxoBXOeEpPi_.+-fF'), minLength: 1, maxLength: 9 })],
  [
    2,
    join(some('', '-', '+'), some('', '0x', '0b', '0o', '0', '0X'), fc.stringMatching(/^[0-9a-f_]{1,18}$/)),
  ],
  [2, join(some('', '-', '+'), some('', '0x', '0b', '0o', '0'), fc.stringMatching(/^[01_]{1,18}$/))],
  [
    4,
    join(
      some('', '-', '0x'),
      fc.stringMatching(/^[0-9]{0,6}\.?[0-9]{0,4}$/),
      some('', 'e', 'e-', 'p', 'p+'),
      fc.stringMatching(/^[0-9]{0,3}$/),
      some('', '', 'i'),
    ),
  ],
  [1, join(fc.stringMatching(/^-?[0-9]{1,3}(\.[0-9])?[-+][0-9]{1,3}i$/))],
  [1, some('9223372036854775807', '9223372036854775808', '-9223372036854775808', '18446744073709551615')],
  [1, some('18446744073709551616', "'a'", "'\\n'", "'é'", "'\\''", "'ab'", "''", "'\"'", "'\\xff'", "'😀'")],
)

const PIECES: readonly string[] = [
  ...[
    '{{',
    '{{',
    '{{',
    '}}',
    '}}',
    '}}',
    '{{-',
    '-}}',
    ' ',
    ' ',
    ' ',
    '\n',
    '(',
    ')',
    '|',
    ',',
    '.',
    '$',
    '-',
    ':=',
  ],
  ...[
    '=',
    '$x',
    '$y',
    '.a',
    '.b',
    '.l',
    '.n',
    '"t"',
    '`r`',
    "'c'",
    '1',
    '2.5',
    '0x1',
    'true',
    'nil',
    '/*',
    '*/',
  ],
  ...[
    '"',
    '\\',
    'if',
    'else',
    'end',
    'range',
    'with',
    'break',
    'continue',
    'print',
    'len',
    'eq',
    'and',
    'index',
  ],
  ...[
    '{{end}}',
    '{{if .a}}',
    '{{range .l}}',
    '{{else}}',
    '{{$x := 1}}',
    '{{.a}}',
    'é',
    '\u00a0',
    ';',
    '1i',
    '+',
  ],
]

/** Made of the right pieces, and mostly not sound. */
export const soup: Text = oneOf(
  [1, fc.array(some(...PIECES), { maxLength: 14 }).map((parts) => parts.join(''))],
  [2, fc.array(some(...PIECES), { maxLength: 7 }).map((parts) => `{{$x := 1}}{{${parts.join('')}}}`)],
)

/** A sound one with one piece too many, or a part left out. */
export const broken: Text = fc
  .tuple(template, fc.nat(), fc.nat({ max: 3 }), some('', ...PIECES))
  .map(([whole, at, count, piece]) => {
    const start = at % (whole.length + 1)
    return (whole.slice(0, start) + piece + whole.slice(start + count)).toWellFormed()
  })
