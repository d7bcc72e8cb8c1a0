// Reads the tokens of a template into its parts: text, actions, if, with and range.
import { TemplateFault } from './fault.ts'
import { toBytes } from './go-text.ts'
import { lex, type Token } from './lex.ts'
import type { Node } from './nodes.ts'
import { parsePipeline } from './parse-pipeline.ts'
import { createTokenReader, type TokenReader, unexpected } from './token-reader.ts'

/** A list of nodes, and the word that ended it. */
interface Listed {
  readonly nodes: readonly Node[]
  readonly ended: 'end' | 'else'
  readonly at: number
}

type Ending = { readonly kind: 'end' | 'else'; readonly at: number }

/** Throws `TemplateFault` with the place. `text` is well-formed. */
export function parse(text: string): readonly Node[] {
  const reader = createTokenReader(lex(text))
  const nodes: Node[] = []
  while (reader.peek().type !== 'end') {
    const node = parseNode(reader)
    if (isEnding(node)) {
      throw new TemplateFault(
        `{{${node.kind}}} stands without {{if}}, {{with}} or {{range}}. Fix: remove it`,
        node.at,
      )
    }
    nodes.push(node)
  }
  return nodes
}

const isEnding = (node: Node | Ending): node is Ending => node.kind === 'end' || node.kind === 'else'

function parseNode(reader: TokenReader): Node | Ending {
  const token = reader.nextNonSpace()
  if (token.type === 'text') return { kind: 'text', at: token.at, bytes: toBytes(token.text) }
  if (token.type !== 'left') throw unexpected(token, 'here')
  const word = reader.peekNonSpace()
  if (word.type === 'keyword' && word.text !== 'nil') {
    reader.nextNonSpace()
    return parseKeyword(reader, word)
  }
  return { kind: 'action', at: token.at, pipeline: parsePipeline(reader, 'action') }
}

function parseKeyword(reader: TokenReader, word: Token): Node | Ending {
  const { text, at } = word
  switch (text) {
    case 'if':
    case 'with':
    case 'range':
      return parseBranch(reader, text, at)
    case 'break':
    case 'continue':
      expectRight(reader, text)
      if (reader.rangeDepth === 0) {
        throw new TemplateFault(`{{${text}}} stands outside {{range}}. Fix: remove it`, at)
      }
      return { kind: text, at }
    case 'end':
      expectRight(reader, text)
      return { kind: 'end', at }
    case 'else': {
      const next = reader.peekNonSpace()
      // `else if` and `else with` go on as a block of their own, in the else.
      if (!(next.type === 'keyword' && /^(if|with)$/.test(next.text))) expectRight(reader, text)
      return { kind: 'else', at }
    }
    default:
      throw new TemplateFault(
        `{{${text}}} is not available: an argument is one template. Fix: write the text where it is needed`,
        at,
      )
  }
}

function expectRight(reader: TokenReader, word: string): void {
  const token = reader.nextNonSpace()
  if (token.type !== 'right') throw unexpected(token, `after ${word}`)
}

function parseBranch(reader: TokenReader, kind: 'if' | 'with' | 'range', at: number): Node {
  const scope = reader.variables.length
  reader.enter(at)
  const pipeline = parsePipeline(reader, kind)
  if (kind === 'range') reader.rangeDepth++
  const body = parseList(reader, kind, at)
  if (kind === 'range') reader.rangeDepth--
  const otherwise = body.ended === 'else' ? parseElse(reader, kind, body.at) : []
  reader.leave()
  reader.variables.length = scope
  return { kind, at, pipeline, body: body.nodes, otherwise }
}

function parseElse(reader: TokenReader, kind: 'if' | 'with' | 'range', at: number): readonly Node[] {
  const next = reader.peek()
  if (kind !== 'range' && next.type === 'keyword' && next.text === kind) {
    reader.next()
    return [parseBranch(reader, kind, next.at)]
  }
  const list = parseList(reader, kind, at)
  if (list.ended === 'else') throw new TemplateFault('there is a second {{else}}. Fix: remove it', list.at)
  return list.nodes
}

function parseList(reader: TokenReader, kind: string, at: number): Listed {
  const nodes: Node[] = []
  for (;;) {
    if (reader.peekNonSpace().type === 'end') {
      throw new TemplateFault(`{{${kind}}} is not closed. Fix: write {{end}} after it`, at)
    }
    const node = parseNode(reader)
    if (isEnding(node)) return { nodes, ended: node.kind, at: node.at }
    nodes.push(node)
  }
}
