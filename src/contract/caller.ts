// The authenticated identity a call runs for.
import type { CallerSnapshot } from './entry.ts'

/** `admin` is the local admin of one machine: the only one whom wildcards carry everywhere (S41). */
export type Caller = CallerSnapshot

export function createCaller(options: {
  readonly actor: string
  readonly namespace?: string
  readonly roles?: readonly string[]
  readonly permissions?: readonly string[]
}): Caller {
  return Object.freeze({
    actor: options.actor,
    namespace: options.namespace ?? 'default',
    roles: options.roles ?? [],
    permissions: options.permissions ?? [],
    admin: false,
  })
}

export function createLocalAdmin(namespace = 'default'): Caller {
  return Object.freeze({
    actor: 'local-admin',
    namespace,
    roles: ['admin'],
    permissions: ['tool:*:invoke', 'capability:*', 'class:*'],
    admin: true,
  })
}
