// How a named operation is reached (S27): each says exactly one way, and one that is there. Those that go to an address
// of their own become internal operations of the tool.
import type { EffectDeclaration } from './effect-schema.ts'
import { checkNamedUrl } from './named-url.ts'
import type { Path } from './problem.ts'
import type { ResolveContext } from './resolve-context.ts'
import type { EffectSource } from './resolve-effect.ts'

type NamedKind = 'status' | 'prepare' | 'commit' | 'rollback' | 'compensation'

/** By the name of the internal operation that each becomes. */
export type NamedRequests = Readonly<
  Record<string, { readonly kind: NamedKind; readonly method: string; readonly url: string }>
>

export type TwoPhaseDeclaration = NonNullable<EffectDeclaration['two_phase']>
export type Declared = NonNullable<
  EffectDeclaration['status_query'] | EffectDeclaration['compensation'] | TwoPhaseDeclaration['commit']
>

/** Finds the operation that each name stands for, and makes one where it is an address. */
export class Ways {
  readonly #context: ResolveContext
  readonly #source: EffectSource
  readonly #requests: Record<string, NamedRequests[string]>

  constructor(
    context: ResolveContext,
    source: EffectSource,
    requests: Record<string, NamedRequests[string]>,
  ) {
    this.#context = context
    this.#source = source
    this.#requests = requests
  }

  operation(kind: NamedKind, named: Declared, path: Path): string {
    if (typeof named === 'string') return this.#own(kind, named, path)
    const { operation, url } = named
    if ((operation === undefined) === (url === undefined)) {
      this.#context.findings.error(path, 'must have exactly one of operation or url', 'keep one')
    }
    if (named.method !== undefined && url === undefined) {
      this.#context.findings.error([...path, 'method'], 'has no url to go to', 'add url, or remove it')
    }
    if (operation !== undefined) return this.#own(kind, operation, [...path, 'operation'])
    return url === undefined ? '' : this.#request(kind, named.method, url, [...path, 'url'])
  }

  #own(kind: NamedKind, name: string, path: Path): string {
    const { spec, findings } = this.#context
    const known = Object.keys(spec.operations ?? {})
    if (name === this.#source.self) {
      findings.error(path, 'is the operation itself', this.#otherWay(kind, 'name another one'))
    } else if (!known.includes(name)) {
      const others = known.filter((one) => one !== this.#source.self)
      const choices = others.length === 0 ? 'declare it under operations' : `use one of ${others.join(', ')}`
      findings.error(path, `the tool has no operation '${name}'`, this.#otherWay(kind, choices))
    } else if (spec.operations?.[name]?.effect?.two_phase !== undefined) {
      findings.error(path, `'${name}' is a two-phase operation itself`, 'name one that acts at once')
    } else this.checkTold(path)
    return name
  }

  /** What is not told the name of an operation would take every other one for the call itself, and act again. */
  checkTold(path: Path): void {
    const { spec, findings, type } = this.#context
    if (type === 'http') {
      const fix = 'write {method, url} in its place'
      findings.error(path, 'type http sends every operation to the same address', fix)
    } else if (type === 'cli' && !Object.values(spec.cli?.env_call ?? {}).includes('operation')) {
      const why =
        'the program is not told which operation it is started for, and would do the call itself again'
      const fix = 'add cli.env_call: {OPERATION: operation}, and have the program look at it'
      findings.error(path, why, fix)
    }
  }

  /** Labels of an MCP tool have no operations to choose from. */
  #otherWay(kind: NamedKind, usual: string): string {
    const { type, spec } = this.#context
    if (type === 'mcp') return mcpWay(kind)
    if (spec.operations !== undefined || usual.startsWith('declare')) return usual
    return type === 'http' ? 'write {method, url} in its place' : `declare another one under operations`
  }

  #request(kind: NamedKind, method: string | undefined, url: string, path: Path): string {
    const sent = method ?? (kind === 'status' ? 'GET' : 'POST')
    const hasToken = this.#source.effect?.two_phase !== undefined && kind !== 'prepare'
    if (this.#context.type === 'mcp') {
      this.#context.findings.error(path, 'is only read for type http, not mcp', mcpWay(kind))
      return ''
    }
    checkNamedUrl(this.#context, { url, method: sent, hasToken: hasToken && kind !== 'compensation' }, path)
    const name = `${this.#source.owner}$${kind}`
    this.#requests[name] = { kind, method: sent, url }
    return name
  }
}

/** A tool of an MCP server has one operation, and nothing else of the server is known to belong to it. */
function mcpWay(kind: NamedKind): string {
  return kind === 'compensation'
    ? 'name another tool: compensation: {tool: NAME}'
    : 'remove it: a tool of an MCP server has this one operation alone'
}

export function warnOfUnread(
  { findings }: ResolveContext,
  named: Declared | undefined,
  path: Path,
  readsDone: boolean,
): void {
  if (typeof named !== 'object') return
  for (const field of ['state', 'done', 'not_done', 'running'] as const) {
    if (named[field] === undefined || (field === 'done' && readsDone)) continue
    findings.warn([...path, field], 'is only read in a status_query', 'remove it')
  }
}
