// What the tests cover over all processes: the raw files that V8 writes under NODE_V8_COVERAGE, merged into one lcov text.
// The merge of node:test adds up what processes disagree about; this one is a union: what one process ran stays covered,
// whatever others loaded without running it.
//
// What counts:
// - A line counts when it holds a character of code: one of a token that is left after the types are erased. Blank lines,
//   comments and lines of types alone do not. It is covered when one process ran any of its characters of code.
// - A branch is a block that V8 told apart from what is around it, by its start and end, in any process. V8 looks inside
//   functions that ran, so functions that never ran have no branches, only lines. A branch is covered when one process
//   ran its first character.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join, relative, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { tokensOf } from './tokens.ts'

/** As V8 writes it: how often the characters from start to end ran, but for those of a range inside this one. */
export interface RawRange {
  readonly startOffset: number
  readonly endOffset: number
  readonly count: number
}
export interface RawScript {
  readonly url: string
  /** The first range of each is the whole function, the others are blocks in it. */
  readonly functions: readonly { readonly ranges: readonly RawRange[] }[]
}

export interface CodeLine {
  /** From 1. */
  readonly line: number
  /** Offsets of its characters of code. */
  readonly code: readonly number[]
}

export interface Merged {
  readonly lcov: string
  /** Raw files that were read in full. */
  readonly processes: number
  /** Raw files cut short, by processes that were killed while they wrote. */
  readonly torn: number
  /** Sources that were changed while the tests ran: what processes say about another text is left out. */
  readonly changed: readonly string[]
}

/** Node remarks once per process that this is experimental; a reader of test results can do nothing about it. */
export function eraseTypes(source: string): string {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return stripTypeScriptTypes(source)
  } finally {
    process.emitWarning = emitWarning
  }
}

/** The lines that count. Erasing types leaves blanks, so an offset in what runs is that in the source. */
export function codeLines(source: string): readonly CodeLine[] {
  const between = /(?:\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y
  const quoted = /(["'`])(?:\\[\s\S]|(?!\1)[^\\])*\1/y
  const endOf = (pattern: RegExp, from: number): number => {
    pattern.lastIndex = from
    return pattern.test(code) ? pattern.lastIndex : from
  }
  const code = eraseTypes(source)
  const lines = new Map<number, number[]>()
  let at = 0
  let line = 1
  const moveTo = (next: number): void => {
    for (; at < next; at++) if (code.charCodeAt(at) === 10) line++
  }
  for (const token of tokensOf(code)) {
    moveTo(endOf(between, at))
    const end = token.kind === 'string' ? endOf(quoted, at) : at + token.text.length
    while (at < end) {
      if (code.charAt(at).trim() !== '') {
        const found = lines.get(line)
        if (found === undefined) lines.set(line, [at])
        else found.push(at)
      }
      moveTo(at + 1)
    }
  }
  return [...lines].map(([number, offsets]) => ({ line: number, code: offsets }))
}

/** How much longer than its source the text is that V8 knows: Node names the file behind the erased types. */
const NAMED = '\n\n//# sourceURL='

/** One source, as all processes together ran it. */
class SourceCoverage {
  readonly #source: string
  /** 1 for every character that some process ran. */
  readonly #ran: Uint8Array
  readonly #one: Uint8Array
  /** Blocks by `start:end`, and where they start. */
  readonly #branches = new Map<string, number>()

  constructor(source: string) {
    this.#source = source
    this.#ran = new Uint8Array(source.length)
    this.#one = new Uint8Array(source.length)
  }

  /** False when the process ran another text than the source. */
  add(script: RawScript): boolean {
    const end = script.functions[0]?.ranges[0]?.endOffset
    const { length } = this.#source
    if (end !== length && end !== length + NAMED.length + script.url.length) return false
    for (const { ranges } of script.functions) {
      for (const block of ranges.slice(1)) {
        this.#branches.set(`${block.startOffset}:${block.endOffset}`, block.startOffset)
      }
    }
    // Outer ranges first, so that the innermost has the last word. Of two that are equal V8 names the outer first.
    const ranges = script.functions.flatMap((found) => found.ranges)
    ranges.sort((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset)
    for (const range of ranges) this.#one.fill(range.count > 0 ? 1 : 0, range.startOffset, range.endOffset)
    for (let at = 0; at < length; at++) if (this.#one[at] === 1) this.#ran[at] = 1
    return true
  }

  lcov(path: string): string {
    const lines = codeLines(this.#source).map(({ line, code }) => ({
      line,
      start: code[0] ?? 0,
      hit: code.some((at) => this.#ran[at] === 1) ? 1 : 0,
    }))
    // A block may begin in the blanks before its first statement; it is shown where its code begins.
    const lineAt = (offset: number): number => {
      const from = offset + this.#source.slice(offset).search(/\S|$/)
      return lines.findLast(({ start }) => start <= from)?.line ?? 1
    }
    const branches = [...this.#branches.values()]
      .sort((a, b) => a - b)
      .map((start) => ({ line: lineAt(start), hit: this.#ran[start] ?? 0 }))
    const hits = (found: readonly { readonly hit: number }[]) => found.filter(({ hit }) => hit > 0).length
    return [
      'TN:',
      `SF:${path}`,
      ...branches.map(({ line, hit }, index) => `BRDA:${line},${index},0,${hit}`),
      `BRF:${branches.length}`,
      `BRH:${hits(branches)}`,
      ...lines.map(({ line, hit }) => `DA:${line},${hit}`),
      `LF:${lines.length}`,
      `LH:${hits(lines)}`,
      'end_of_record\n',
    ].join('\n')
  }
}

/**
 * The scripts of one raw file whose address begins with `base`; undefined when the file is cut short. Most of a raw file is
 * about Node and packages, so only the wanted scripts are parsed: no string in JSON holds a bare quote, so a mark that
 * does is never part of one.
 */
export function readRaw(raw: Buffer, base: string): readonly RawScript[] | undefined {
  const scripts: RawScript[] = []
  const mark = `"url":"${base}`
  try {
    // The key that follows the scripts: with it, all of them are there. Without it the file is cut short, or of a Node that
    // writes it in another way.
    const last = raw.indexOf('}],"timestamp":')
    if (last < 0) {
      const { result } = JSON.parse(raw.toString()) as { readonly result: readonly RawScript[] }
      return result.filter(({ url }) => url.startsWith(base))
    }
    for (let from = raw.indexOf(mark); from >= 0 && from < last; ) {
      const next = raw.indexOf('},{"scriptId":"', from)
      const end = next < 0 ? last : next
      scripts.push(JSON.parse(`{${raw.toString('utf8', from, end)}}`) as RawScript)
      from = raw.indexOf(mark, end)
    }
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
  return scripts
}

/** Merges all raw files of a folder, for the sources under `<root>/src`. Reads one file after the other: a run leaves hundreds. */
export function mergeCoverage(folder: string, root: string): Merged {
  const base = pathToFileURL(join(root, 'src', sep)).href
  const sources = new Map<string, SourceCoverage>()
  const changed = new Set<string>()
  let processes = 0
  let torn = 0
  for (const name of readdirSync(folder).sort()) {
    const scripts = readRaw(readFileSync(join(folder, name)), base)
    if (scripts === undefined) {
      torn++
      continue
    }
    processes++
    for (const script of scripts) {
      const file = fileURLToPath(script.url)
      const path = relative(root, file).replaceAll(sep, '/')
      if (!sources.has(path) && existsSync(file)) {
        sources.set(path, new SourceCoverage(readFileSync(file, 'utf8')))
      }
      if (sources.get(path)?.add(script) !== true) changed.add(path)
    }
  }
  const records = [...sources]
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([path, source]) => source.lcov(path))
  return { lcov: records.join(''), processes, torn, changed: [...changed].sort() }
}
