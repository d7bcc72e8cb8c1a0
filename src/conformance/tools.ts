// The tools that the cases call, declared over the four operations that every tool peer offers (S54).
import { ISOLATION_MODES, type IsolationMode } from '../resource/resolved-tool.ts'
import type { ToolSpec } from '../resource/tool.ts'
import type { Presents } from './subject.ts'

/**
 * echo: gives its input back. sleep {ms}: answers after so long. fail {code, retryable, message, status}: fails like
 * that. count: makes one effect under its idempotency key and answers {count}, the effects made under that key.
 */
export const OPERATIONS = ['echo', 'sleep', 'fail', 'count'] as const
export type OperationName = (typeof OPERATIONS)[number]

/** What a manifest says of a tool besides what it is made of. */
export type DeclaredSpec = Omit<
  ToolSpec,
  'type' | 'endpoint' | 'operations' | 'input_schema' | 'output_schema' | 'effect' | 'description' | 'version'
>

export interface Declaration {
  readonly name: string
  readonly operation: OperationName
  /** Absent: a write that can be neither repeated nor asked about (S21). */
  readonly effect?: NonNullable<ToolSpec['effect']>
  readonly spec: DeclaredSpec
}

const READ = { effect: { class: 'read-only' } } as const

export const API_KEY_HEADER = 'X-Api-Key'
/** Where programs find the value of the secret that they are shown. */
export const CREDENTIAL_VARIABLE = 'SECRET'
export const TOKEN_SCOPE = 'conformance.read conformance.write'
/** Kept by cases: without that there is none of them. */
export const SECRETS = Object.freeze({
  bearer: 'conformance-bearer',
  apiKey: 'conformance-api-key',
  basic: 'conformance-basic',
  client: 'conformance-client',
  /** That no tool names. */
  other: 'conformance-other',
  /** That is never kept. */
  missing: 'conformance-missing',
  /** Of another namespace. */
  elsewhere: { namespace: 'conformance-elsewhere', name: 'conformance-shared' },
})

const PROFILES = {
  bearer: { profile: 'bearer', secretRef: SECRETS.bearer },
  'api-key-header': { profile: 'api_key_header', secretRef: SECRETS.apiKey, headerName: API_KEY_HEADER },
  basic: { profile: 'basic', secretRef: SECRETS.basic },
  'oauth2-client-credentials': {
    profile: 'oauth2_client_credentials',
    secretRef: SECRETS.client,
    // Whoever declares it puts the address of a real one here.
    tokenURL: 'https://auth.invalid/token',
    scopes: TOKEN_SCOPE.split(' '),
  },
} as const satisfies Record<string, NonNullable<ToolSpec['auth']>>

export const AUTH_TOOLS = Object.keys(PROFILES).map(
  (profile) => `auth-${profile}` as `auth-${keyof typeof PROFILES}`,
)

/** The boundaries beyond `none`. */
export const BOUNDED_MODES = ISOLATION_MODES.filter((mode): mode is Exclude<IsolationMode, 'none'> => {
  return mode !== 'none'
})

export const isolatedTool = <M extends (typeof BOUNDED_MODES)[number]>(mode: M) => `isolated-${mode}` as const

export const GUARD_CAPABILITY = 'conformance.guarded'
export const GUARD_CLASS = 'conformance-guarded'
export const SMALL_OUTPUT_BYTES = 4_096

const BASE = {
  echo: { operation: 'echo', ...READ, spec: {} },
  sleep: { operation: 'sleep', ...READ, spec: {} },
  'sleep-write': { operation: 'sleep', spec: {} },
  fail: { operation: 'fail', ...READ, spec: {} },
  'fail-again': {
    operation: 'fail',
    ...READ,
    spec: { runtime: { retry: { max_attempts: 3, backoff: '5ms', max_backoff: '10ms' } } },
  },
  'fail-write': { operation: 'fail', spec: {} },
  count: {
    operation: 'count',
    effect: { class: 'external-communication', idempotency: { keyed: { retention: '1h' } } },
    spec: {},
  },
  guarded: {
    operation: 'echo',
    ...READ,
    spec: { capabilities: [GUARD_CAPABILITY], risk_level: 'high', permission_class: GUARD_CLASS },
  },
  approved: {
    operation: 'echo',
    ...READ,
    spec: { approval_triggers: [{ field: 'amount', op: 'gt', value: 100 }] },
  },
  small: { operation: 'echo', ...READ, spec: { limits: { output_bytes: SMALL_OUTPUT_BYTES } } },
  memory: { operation: 'echo', ...READ, spec: { limits: { memory: '64Mi' } } },
  'auth-elsewhere': {
    operation: 'echo',
    ...READ,
    spec: {
      auth: { profile: 'bearer', secretRef: `${SECRETS.elsewhere.namespace}/${SECRETS.elsewhere.name}` },
    },
  },
  'auth-missing': {
    operation: 'echo',
    ...READ,
    spec: { auth: { profile: 'bearer', secretRef: SECRETS.missing } },
  },
} as const satisfies Record<string, Omit<Declaration, 'name'>>

export type ToolName =
  | keyof typeof BASE
  | (typeof AUTH_TOOLS)[number]
  | ReturnType<typeof isolatedTool<(typeof BOUNDED_MODES)[number]>>

const withAuth = Object.entries(PROFILES).map(
  ([name, auth]) => [`auth-${name}`, { operation: 'echo', ...READ, spec: { auth } }] as const,
)
const isolated = BOUNDED_MODES.map((mode) => {
  return [
    isolatedTool(mode),
    { operation: 'echo', ...READ, spec: { runtime: { isolation_mode: mode } } },
  ] as const
})

/** Every tool by its short name; `Declaration.name` is the name that requests use. */
export const TOOLS = Object.freeze(
  Object.fromEntries(
    [...Object.entries(BASE), ...withAuth, ...isolated].map(([name, rest]) => [
      name,
      { name: `conformance-${name}`, ...rest },
    ]),
  ),
) as Readonly<Record<ToolName, Declaration>>

/** Whether a backend that can show so much takes it. What it refuses is left to the cases. */
export function isDeclared({ spec: { auth } }: Declaration, presents: Presents): boolean {
  return presents !== 'value' || auth === undefined || auth.profile === 'bearer'
}

/**
 * A tool of a type that is not built, with the constraints that only such a type can have. Its calls must be refused
 * as long as nothing can hold them.
 */
export const BOXED_TOOL = Object.freeze({
  name: 'conformance-boxed',
  operation: 'invoke',
  manifest: {
    apiVersion: 'writ.dev/v1',
    kind: 'Tool',
    metadata: { name: 'conformance-boxed' },
    spec: {
      type: 'cli',
      effect: { class: 'read-only' },
      cli: {
        command: 'true',
        image: 'localhost/conformance:1',
        resources: { memory: '64Mi', cpus: 0.5, pids_limit: 16 },
      },
    },
  },
})

/** What a caller needs to call all of them. By name: wildcards do not cover every one (S41). */
export const PERMISSIONS: readonly string[] = Object.freeze([
  ...Object.values(TOOLS).map(({ name }) => `tool:${name}:invoke`),
  `tool:${BOXED_TOOL.name}:invoke`,
  `capability:${GUARD_CAPABILITY}`,
  `class:${GUARD_CLASS}`,
])
