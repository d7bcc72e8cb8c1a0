// The authenticated identity a call runs for.
import type { CallerSnapshot } from './entry.ts'

export const ACTOR_KINDS = ['agent', 'person', 'service'] as const
export type ActorKind = (typeof ACTOR_KINDS)[number]

/** `admin` is the local admin of one machine: the only one whom wildcards carry everywhere (S41). */
export type Caller = CallerSnapshot

export interface CallerIdentity {
  readonly actor: string
  /** @default 'default' */
  readonly namespace?: string
  /** @default 'service' */
  readonly kind?: ActorKind
  /** Names of AgentRoles of the namespace. A role that does not exist denies. */
  readonly roles?: readonly string[]
  /** What it holds besides its roles. */
  readonly permissions?: readonly string[]
  /** What it is narrowed to. @default not narrowed */
  readonly scopes?: readonly string[]
  /** Agents that it may speak for. */
  readonly agents?: readonly string[]
  readonly system?: string
}

export function createCaller(identity: CallerIdentity): Caller {
  const { actor, namespace = 'default', kind = 'service', roles = [], permissions = [] } = identity
  const { scopes, agents, system } = identity
  return Object.freeze({
    actor,
    namespace,
    kind,
    roles,
    permissions,
    admin: false,
    ...(scopes === undefined ? {} : { scopes }),
    ...(agents === undefined ? {} : { agents }),
    ...(system === undefined ? {} : { system }),
  })
}

/** Callers that were kept before kinds were told apart have none. */
export function kindOf({ kind = 'service' }: CallerSnapshot): ActorKind {
  return kind
}

export function createLocalAdmin(namespace = 'default'): Caller {
  return Object.freeze({
    actor: 'local-admin',
    namespace,
    kind: 'person',
    roles: ['admin'],
    permissions: ['tool:*:invoke', 'capability:*', 'class:*'],
    admin: true,
  })
}
