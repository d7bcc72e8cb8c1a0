// The rules of the house that no linter knows. Each takes one file and gives what it breaks, as `line: what`.
import type { RepoFile } from './repo-files.ts'
import { type Token, tokensOf } from './tokens.ts'

export interface Finding {
  readonly line: number
  readonly what: string
}

export interface HouseRule {
  readonly name: string
  readonly fix: string
  applies(path: string): boolean
  find(file: RepoFile): readonly Finding[]
}

const MAX_LINES = 500
const isCode = (path: string): boolean => /^(src|test|bench|scripts|examples)\//.test(path)
const isTypeScript = (path: string): boolean => path.endsWith('.ts')

function findByLine(text: string, pattern: RegExp, say: (match: string) => string): Finding[] {
  return text.split('\n').flatMap((line, at) => {
    const match = pattern.exec(line)
    return match ? [{ line: at + 1, what: say(match[0]) }] : []
  })
}

const texts = (tokens: readonly Token[], at: number, count: number): string =>
  tokens
    .slice(Math.max(0, at), at + count)
    .map((token) => token.text)
    .join('')

// Written in two pieces, so that this file does not break the rule it states.
const MARKERS = new RegExp(
  `\\b(${['TO', 'FIX', 'XX', 'HA'].map((a, i) => a + ['DO', 'ME', 'X', 'CK'][i]).join('|')})\\b`,
)

const leftOvers: HouseRule = {
  name: 'left-overs',
  fix: 'do what the marker says, or open an issue and remove it',
  applies: () => true,
  find: ({ text }) => findByLine(text, MARKERS, (match) => `left-over marker ${match}`),
}

const narrowedTests: HouseRule = {
  name: 'tests',
  fix: 'run every test; a test that cannot run here skips itself with t.skip(reason and fix)',
  applies: (path) => path.startsWith('test/') && isTypeScript(path),
  find: ({ text }) => {
    const tokens = tokensOf(text)
    return tokens.flatMap((token, at): Finding[] => {
      if (token.kind !== 'word' || !['only', 'todo', 'skip'].includes(token.text)) return []
      const called =
        /^(it|test|describe|suite)\.$/.test(texts(tokens, at - 2, 2)) && tokens[at + 1]?.text === '('
      const option = tokens[at + 1]?.text === ':' && tokens[at + 2]?.text === 'true'
      return called || option
        ? [{ line: token.line, what: `\`${token.text}\` narrows the test run without a reason` }]
        : []
    })
  },
}

const longFiles: HouseRule = {
  name: 'length',
  fix: 'find the seam and make two files of it',
  applies: (path) => isCode(path) && !path.endsWith('.json'),
  find: ({ text }) => {
    const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
    return lines > MAX_LINES ? [{ line: lines, what: `${lines} lines, ${MAX_LINES} is the limit` }] : []
  },
}

const firstLine: HouseRule = {
  name: 'first line',
  fix: 'begin the file with a comment that says what it is for',
  applies: (path) => /^(src|bench|scripts)\//.test(path) && isTypeScript(path),
  find: ({ text }) =>
    /^(#!.*\n)?(\/\/ |\/\*\*)/.test(text)
      ? []
      : [{ line: 1, what: 'the first line does not say what the file is for' }],
}

const fileNames: HouseRule = {
  name: 'names',
  fix: 'name the file in kebab-case, after its main export',
  applies: (path) => isCode(path) && isTypeScript(path),
  find: ({ path }) =>
    path.split('/').every((part) => /^[a-z0-9]+(-[a-z0-9]+)*(\.(test|d))?(\.ts)?$/.test(part))
      ? []
      : [{ line: 1, what: 'the path is not in kebab-case' }],
}

/** Where the world is made, and the thread that owns a database file: nothing else reads the clock, chance or the environment. */
const ROOTS = /^src\/(util\/clock\.ts|runtime\.ts|config\/|cli\/|.*(^|[/-])worker\.ts$)/
const AMBIENT_MEMBERS: ReadonlySet<string> = new Set([
  'Date.now',
  'Math.random',
  'process.env',
  'process.hrtime',
  'performance.now',
  'AbortSignal.timeout',
  'crypto.randomUUID',
  'crypto.getRandomValues',
])
const AMBIENT_CALLS: ReadonlySet<string> = new Set(['setTimeout', 'setInterval', 'setImmediate'])
/** Only where they are node:crypto's: a function that is handed in may well have such a name. */
const CHANCE: ReadonlySet<string> = new Set(['randomUUID', 'randomBytes', 'randomInt', 'randomFillSync'])

const ambient: HouseRule = {
  name: 'world',
  fix: 'take a World (src/util/world.ts) and ask it; only composition roots make one',
  applies: (path) => path.startsWith('src/') && isTypeScript(path) && !ROOTS.test(path),
  find: ({ text }) => {
    const tokens = tokensOf(text)
    const hasCrypto = tokens.some((token) => token.kind === 'string' && /^(node:)?crypto$/.test(token.text))
    return tokens.flatMap((token, at): Finding[] => {
      const say = (what: string): Finding[] => [
        { line: token.line, what: `${what} outside a composition root` },
      ]
      if (token.kind === 'string') {
        // What is imported, not any text that happens to be the name of a module.
        const before = tokens[at - 1]?.text === '(' ? tokens[at - 2]?.text : tokens[at - 1]?.text
        const imported = /^(from|import|require)$/.test(before ?? '')
        return imported && /^(node:)?timers(\/promises)?$/.test(token.text) ? say(`'${token.text}'`) : []
      }
      if (token.kind !== 'word') return []
      const member = texts(tokens, at, 3)
      if (AMBIENT_MEMBERS.has(member)) return say(member)
      if (texts(tokens, at, 4) === 'newDate()') return say('new Date()')
      const before = tokens[at - 1]?.text
      const free = before !== '.' || tokens[at - 2]?.text === 'globalThis'
      // A method of that name is somebody's own; so is the declaration of one.
      const called = tokens[at + 1]?.text === '(' && before !== 'function' && before !== '{'
      if (hasCrypto && called && CHANCE.has(token.text)) return say(`${token.text}()`)
      return free && called && AMBIENT_CALLS.has(token.text) ? say(`${token.text}()`) : []
    })
  },
}

/** Objects that nobody can put anything into. `Name` is ajv's: an identifier in generated code. */
const INERT = /^(RegExp|URL|TextEncoder|TextDecoder|Intl|Name)$/
const COLLECTIONS = /^(Map|Set|WeakMap|WeakSet|Array)$/

/** What is wrong with `value`, the tokens after `=`, given the declared type. */
function mutableValue(value: readonly Token[], annotation: readonly Token[]): string | undefined {
  const [first, second] = value
  if (texts(value, 0, 5) === 'newUint8Array(0)') return undefined
  if (first?.text === 'new' && second !== undefined) {
    if (INERT.test(second.text)) return undefined
    if (!COLLECTIONS.test(second.text)) return `new ${second.text} is an object with state`
    const readOnly =
      annotation[0]?.text === ':' && /^Readonly(Map|Set|Array)$/.test(annotation[1]?.text ?? '')
    return readOnly ? undefined : `new ${second.text} can be written to`
  }
  const pair = `${first?.text}${second?.text}`
  return pair === '[]' || pair === '{}' ? `an empty ${pair} is there to be filled` : undefined
}

const moduleState: HouseRule = {
  name: 'module state',
  fix: 'move it into the factory that uses it; a constant table is typed ReadonlyMap, ReadonlySet or readonly',
  applies: (path) => path.startsWith('src/') && isTypeScript(path),
  find: ({ text }) => {
    const tokens = tokensOf(text)
    return tokens.flatMap((token, at): Finding[] => {
      const say = (what: string | undefined): Finding[] =>
        what === undefined ? [] : [{ line: token.line, what: `module-level state: ${what}` }]
      const statement = token.kind === 'word' && tokens[at - 1]?.text !== '.'
      if (statement && token.depth === 0 && /^(let|var)$/.test(token.text)) {
        return say(`\`${token.text} ${tokens[at + 1]?.text}\` can change`)
      }
      const isStatic = statement && token.text === 'static' && tokens[at + 1]?.kind === 'word'
      if (!isStatic && !(statement && token.depth === 0 && token.text === 'const')) return []
      const equals = tokens.findIndex(
        (next, i) => i > at && next.depth === token.depth && /^[=({;}]$/.test(next.text),
      )
      if (tokens[equals]?.text !== '=') return []
      const declared = tokens.slice(at + 1, equals)
      if (isStatic && declared[0]?.text !== 'readonly') return say(`static ${declared[0]?.text} can change`)
      const colon = declared.findIndex((next) => next.text === ':')
      return say(mutableValue(tokens.slice(equals + 1, equals + 6), colon < 0 ? [] : declared.slice(colon)))
    })
  },
}

const MACHINE = new RegExp(
  [
    // A home or a checkout of somebody's machine; a path inside a URL or a longer path does not count.
    String.raw`(?<![\w.\-/:])/(?:home/[a-z]|root/|Users/|work/)`,
    String.raw`\b[A-Z]:\\Users\b`,
    String.raw`\bregistry\.(?:npmjs|yarnpkg|npmmirror)\b`,
    String.raw`https?://[^\s"']*(?:npm[-.]|registry|artifactory|nexus|verdaccio)[^\s"']*\.tgz`,
  ].join('|'),
)

const machine: HouseRule = {
  name: 'machine',
  fix: 'write the path relative to the project, and leave registry hosts to the configuration of npm',
  applies: () => true,
  find: ({ path, text }) => {
    const found = findByLine(text, MACHINE, (match) => `\`${match}\` belongs to one machine`)
    if (!path.endsWith('package-lock.json')) return found
    return [...found, ...findByLine(text, /"resolved": "https?:/, () => 'a registry host in the lock file')]
  },
}

export const HOUSE_RULES: readonly HouseRule[] = [
  leftOvers,
  narrowedTests,
  longFiles,
  firstLine,
  fileNames,
  ambient,
  moduleState,
  machine,
]

/** Everything that `rule` finds in `files`, as lines for people. */
export function findingsOf(rule: HouseRule, files: readonly RepoFile[]): readonly string[] {
  return files
    .filter((file) => rule.applies(file.path))
    .flatMap((file) => rule.find(file).map(({ line, what }) => `${file.path}:${line}: ${what}`))
}
