// From the bytes of a manifest file to documents that know their positions. Never throws; bounded in time and memory.
import type { Alias, Document, Pair } from 'yaml'
import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type ParsedNode,
  parseAllDocuments,
  type Scalar,
} from 'yaml'
import { isExact } from '../util/decimal.ts'
import { isReservedKey } from '../util/scan-json.ts'
import type { Path, Position } from './problem.ts'
import { decodeText, START, type TextProblem } from './source-text.ts'
import type { SourceEntry, SourceNode } from './source-tree.ts'

export interface YamlSource {
  readonly documents: readonly SourceNode[]
  readonly problems: readonly TextProblem[]
}

const MAX_VALUES = 50_000
const MAX_ALIASES = 100
const MAX_DOCUMENTS = 1_000
/** Longer texts are not written in one line by anybody who wants to know a place in them. */
const MAX_ONE_LINE = 10_000
/** As for requests (S3). */
const MAX_DEPTH = 128
/** More than anybody reads; a broken file repeats itself. */
const MAX_PROBLEMS = 100

export function readYaml(source: string | Uint8Array): YamlSource {
  const text = decodeText(source)
  if (typeof text !== 'string') return { documents: [], problems: [text] }
  const lines = new LineCounter()
  // Duplicate keys are found here: the parser compares each key with all before it, which is quadratic.
  const parsed = parseAllDocuments(text, {
    lineCounter: lines,
    prettyErrors: false,
    logLevel: 'silent',
    uniqueKeys: false,
    stringKeys: true,
    strict: true,
    version: '1.2',
    schema: 'core',
    merge: false,
    resolveKnownTags: false,
  })
  const place = (offset: number): Position => {
    const { line, col } = lines.linePos(offset)
    return line === 0 ? { line: 1, column: offset + 1 } : { line, column: col }
  }
  const reader = createReader(place, text)
  if ('empty' in parsed) {
    for (const error of parsed.errors) reader.refuseText(error.pos[0], error.code, error.message)
    if (parsed.errors.length === 0) reader.refuse(START, [], 'holds no document', 'write a manifest into it')
    return { documents: [], problems: reader.problems }
  }
  const documents: SourceNode[] = []
  for (const [index, document] of parsed.entries()) {
    if (index === MAX_DOCUMENTS) {
      reader.refuse(
        place(document.range[0]),
        [],
        `holds more than ${MAX_DOCUMENTS} documents`,
        'split the file',
      )
      break
    }
    const before = reader.problems.length
    const broken = [...document.errors, ...document.warnings]
    for (const error of broken) reader.refuseText(error.pos[0], error.code, error.message)
    // A document that does not parse has a tree full of consequences: only its own errors are worth reading.
    if (broken.length > 0 || document.contents === null) continue
    const node = reader.read(document, document.contents)
    if (reader.problems.length === before && node !== undefined && !isEmpty(node)) documents.push(node)
  }
  if (documents.length === 0 && reader.problems.length === 0) {
    reader.refuse(START, [], 'holds no document', 'write a manifest into it')
  }
  return { documents, problems: reader.problems }
}

function isEmpty(node: SourceNode): boolean {
  return node.kind === 'scalar' && node.value === null
}

/** In place of what the parser says. */
const TEXT_WORDS: Record<string, string> = {
  // It ran out of stack: its words speak of itself.
  RESOURCE_EXHAUSTION: `nests deeper than ${MAX_DEPTH} levels`,
  // It repeats the tag: text that begins with a `!` may be a password that nobody quoted.
  TAG_RESOLVE_FAILED: 'unresolved tag',
}

const TEXT_FIXES: Record<string, string> = {
  TAB_AS_INDENT: 'indent with spaces',
  BAD_INDENT: 'line the entries of one block up in one column',
  TAG_RESOLVE_FAILED: 'write the value without its tag, or quote the text',
  MISSING_CHAR: 'close what was opened, or quote the text',
  UNEXPECTED_TOKEN: 'quote the text',
  BAD_SCALAR_START: 'quote the text',
  NON_STRING_KEY: 'use a plain name as key',
  RESOURCE_EXHAUSTION: `nest at most ${MAX_DEPTH} levels`,
}

function createReader(place: (offset: number) => Position, text: string) {
  const problems: TextProblem[] = []
  const seen = new Set<string>()
  let values = 0
  let aliases = 0

  function refuse(at: Position, path: Path, message: string, fix?: string): void {
    const id = `${at.line}:${at.column}:${message}`
    if (problems.length >= MAX_PROBLEMS || seen.has(id)) return
    seen.add(id)
    problems.push({ at, path, message, ...(fix === undefined ? {} : { fix }) })
  }

  function refuseText(offset: number, code: string, message: string): void {
    // Behind a colon the parser repeats what it found: text that begins with `|`, `>` or `}` may be a password, too.
    const said = code === 'UNEXPECTED_TOKEN' ? message.replace(/: .*$/s, '') : message
    const words = TEXT_WORDS[code] ?? decapitalize(said)
    refuse(place(offset), [], words, TEXT_FIXES[code])
  }

  function read(document: Document.Parsed, root: ParsedNode): SourceNode | undefined {
    /** Anchors being expanded: meeting one again would never end. */
    const open = new Set<Node>()

    function walk(node: Node | null, path: Path, fallback: Position): SourceNode | undefined {
      const at = node?.range ? place(node.range[0]) : fallback
      if (++values > MAX_VALUES) {
        refuse(
          START,
          [],
          `holds more than ${MAX_VALUES} values`,
          'split the file, and use fewer YAML aliases',
        )
        return undefined
      }
      if (path.length > MAX_DEPTH) {
        refuse(at, path.slice(0, 3), `nests deeper than ${MAX_DEPTH} levels`, 'flatten it')
        return undefined
      }
      if (node === null) return { kind: 'scalar', at, value: null }
      if (isAlias(node)) return follow(node, path, at)
      if (isMap(node)) return walkMap(node.items as Pair<Node, Node | null>[], path, at)
      if (isSeq(node)) {
        const items: SourceNode[] = []
        for (const [index, item] of node.items.entries()) {
          const child = walk(item as Node | null, [...path, index], at)
          if (child !== undefined) items.push(child)
        }
        return { kind: 'list', at, items }
      }
      return isScalar(node) ? scalar(node, path, at) : undefined
    }

    function walkMap(pairs: Pair<Node, Node | null>[], path: Path, at: Position): SourceNode {
      const entries = new Map<string, SourceEntry>()
      for (const { key, value } of pairs) {
        const keyAt = key?.range ? place(key.range[0]) : at
        if (!isScalar(key) || typeof key.value !== 'string') {
          refuse(keyAt, path, 'has a key that is no plain name', TEXT_FIXES.NON_STRING_KEY)
          continue
        }
        const name = key.value
        if (isReservedKey(name)) refuse(keyAt, [...path, name], 'is a reserved name', 'use another name')
        else if (entries.has(name)) {
          const first = entries.get(name)?.keyAt
          refuse(keyAt, [...path, name], `is given twice, first in line ${first?.line}`, 'keep one of them')
        } else if (name === '<<') {
          refuse(keyAt, path, 'merge keys (<<) are not read', 'write the fields out')
        } else {
          const node = walk(value, [...path, name], keyAt)
          if (node !== undefined) entries.set(name, { keyAt, node })
        }
        if (values > MAX_VALUES) break
      }
      return { kind: 'object', at, entries }
    }

    function follow(alias: Alias, path: Path, at: Position): SourceNode | undefined {
      if (++aliases > MAX_ALIASES) {
        refuse(at, path, `uses more than ${MAX_ALIASES} YAML aliases`, 'write the values out')
        return undefined
      }
      const target = alias.resolve(document)
      if (target === undefined) {
        refuse(
          at,
          path,
          // Its name is not repeated: text that begins with a `*` may be a password that nobody quoted.
          'refers to an anchor that is not defined before it',
          'define it, or quote the text',
        )
        return undefined
      }
      if (open.has(target)) {
        refuse(at, path, `contains itself through the anchor '${alias.source}'`, 'write the value out')
        return undefined
      }
      open.add(target)
      const node = walk(target, path, at)
      open.delete(target)
      return node
    }

    return walk(root, [], START)
  }

  function scalar(node: Scalar, path: Path, at: Position): SourceNode | undefined {
    const { value, source } = node
    if (value === null || typeof value === 'boolean') return { kind: 'scalar', at, value }
    if (typeof value === 'string') {
      if (!value.isWellFormed())
        refuse(at, path, 'holds half a character (a lone surrogate)', 'remove the escape')
      const textAt = textStart(node, value, at)
      return { kind: 'scalar', at, value, ...(textAt === undefined ? {} : { textAt }) }
    }
    if (typeof value !== 'number') {
      refuse(at, path, 'is no JSON value', 'use text, a number, true, false, a list or a map')
      return undefined
    }
    if (!isKept(value, source)) {
      refuse(
        at,
        path,
        // Not repeated: a password may be all digits, and nobody quoted it.
        'is a number that cannot be kept exactly',
        'use a smaller number, or quote it',
      )
    }
    return { kind: 'scalar', at, value: Object.is(value, -0) ? 0 : value }
  }

  /** Only where each line of the value is a line of the file, from one column on. */
  function textStart(node: Scalar, value: string, at: Position): Position | undefined {
    if (node.type === 'BLOCK_LITERAL' && node.range) {
      const body = text.indexOf('\n', node.range[0]) + 1
      const first = value.search(/\S/)
      const indent = /^[ ]*(?=\S)/m.exec(text.slice(body, node.range[1]))?.[0].length
      const own = first === -1 ? 0 : first - (value.lastIndexOf('\n', first) + 1)
      return indent === undefined ? undefined : { line: at.line + 1, column: indent - own + 1 }
    }
    if (value.includes('\n') || value.length > MAX_ONE_LINE) return undefined
    if (node.type === 'PLAIN') return at
    const same = node.range && text.slice(node.range[0] + 1, node.range[1] - 1) === value
    return same ? { line: at.line, column: at.column + 1 } : undefined
  }

  return { problems, refuse, refuseText, read }
}

/** S3: what cannot be written again as it was read is refused. Hexadecimal and octal text is only ever an integer. */
function isKept(value: number, source: string | undefined): boolean {
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) return false
  return source === undefined || /^0[xo]/.test(source) || isExact(source.replace(/^\+/, ''))
}

function decapitalize(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1).replace(/[.\s]+$/, '')
}
