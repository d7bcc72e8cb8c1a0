// What can be frozen: one tool, one caller, a whole namespace, everything.
import { EVERYWHERE, type Stop } from './stop.ts'

export const FREEZABLE = ['tool', 'caller', 'namespace', 'all'] as const

export type FreezeTarget =
  | { readonly what: 'tool' | 'caller'; readonly name: string }
  | { readonly what: 'namespace' | 'all' }

/** What a stop of this kind is called, and where it is kept. */
export function stopOf(target: FreezeTarget, namespace: string): Pick<Stop, 'namespace' | 'name'> {
  if ('name' in target) return { namespace, name: `${target.what}:${target.name}` }
  return target.what === 'all' ? { namespace: EVERYWHERE, name: 'all' } : { namespace, name: 'namespace' }
}

/** Undefined for stops that are no freezes, such as tokens that were taken back. */
export function targetOf({ name }: Pick<Stop, 'name'>): FreezeTarget | undefined {
  if (name === 'all' || name === 'namespace') return { what: name }
  const [what = '', ...rest] = name.split(':')
  if (what !== 'tool' && what !== 'caller') return undefined
  return { what, name: rest.join(':') }
}
