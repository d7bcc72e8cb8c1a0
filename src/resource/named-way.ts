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
    if (typeof named === 'string') return this.#own(named, path)
    const { operation, url } = named
    if ((operation === undefined) === (url === undefined)) {
      this.#context.findings.error(path, 'must have exactly one of operation or url', 'keep one')
    }
    if (named.method !== undefined && url === undefined) {
      this.#context.findings.error([...path, 'method'], 'has no url to go to', 'add url, or remove it')
    }
    if (operation !== undefined) return this.#own(operation, [...path, 'operation'])
    return url === undefined ? '' : this.#request(kind, named.method, url, [...path, 'url'])
  }

  #own(name: string, path: Path): string {
    const { spec, findings, type } = this.#context
    const known = Object.keys(spec.operations ?? {})
    if (!known.includes(name)) {
      const choices = known.length === 0 ? 'declare it under operations' : `use one of ${known.join(', ')}`
      findings.error(path, `the tool has no operation '${name}'`, choices)
    } else if (name === this.#source.owner) {
      findings.error(path, 'is the operation itself', 'name another one')
    } else if (spec.operations?.[name]?.effect?.two_phase !== undefined) {
      findings.error(path, `'${name}' is a two-phase operation itself`, 'name one that acts at once')
    } else if (type === 'http') {
      // A plain service is not told the name of an operation: it would take this for the call itself.
      const fix = 'write {method, url} in its place'
      findings.error(path, 'type http sends every operation to the same address', fix)
    }
    return name
  }

  #request(kind: NamedKind, method: string | undefined, url: string, path: Path): string {
    const sent = method ?? (kind === 'status' ? 'GET' : 'POST')
    const hasToken = this.#source.effect?.two_phase !== undefined && kind !== 'prepare'
    checkNamedUrl(this.#context, { url, method: sent, hasToken: hasToken && kind !== 'compensation' }, path)
    const name = `${this.#source.owner}$${kind}`
    this.#requests[name] = { kind, method: sent, url }
    return name
  }
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
