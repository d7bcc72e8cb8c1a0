// What freeze and thaw are about, from the words of their command line.
import type { FreezeTarget } from '../contract/freeze.ts'
import { usageError } from './cli-error.ts'

export function readFreezeTarget(verb: string, what: string, name: string | undefined): FreezeTarget {
  if (what === 'tool' || what === 'caller') {
    if (name === undefined)
      throw usageError(`'writ ${verb} ${what}' needs a name`, `write: writ ${verb} ${what} NAME`)
    return { what, name }
  }
  if (name !== undefined) {
    const fix = what === 'namespace' ? 'name the namespace with -n' : 'leave the name out'
    throw usageError(`'writ ${verb} ${what}' takes no name`, fix)
  }
  return { what: what === 'all' ? 'all' : 'namespace' }
}

export function freezeText(target: FreezeTarget, namespace?: string): string {
  if ('name' in target) return `${target.what} ${target.name}`
  return target.what === 'all' ? 'everything' : `namespace ${namespace ?? ''}`.trimEnd()
}
