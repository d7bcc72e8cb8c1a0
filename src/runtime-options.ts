// What a runtime is made with.
import type { ProviderSettings } from './credential/create-secret-providers.ts'
import type { MasterKeyChoice } from './credential/master-key-source.ts'
import type { NativeToolDefinition } from './define-tool.ts'
import type { CallbackOptions } from './driver/callback.ts'
import type { AuditOptions } from './driver/open-audit.ts'
import type { RetentionOptions } from './driver/retention.ts'
import type { Events } from './event/event.ts'
import type { NotifierOptions } from './notify/notifier.ts'
import type { StoreChoice } from './open-store.ts'
import type { ToolCallbacks } from './transport/callback-address.ts'
import type { KnownOptions } from './util/unknown-option.ts'
import type { World } from './util/world.ts'

export interface RuntimeOptions {
  /** Where calls, entries and evidence are kept. @default {kind: 'memory'}, which ends with the process */
  readonly store?: StoreChoice
  /** Tools that are functions of this program. */
  readonly tools?: readonly NativeToolDefinition[]
  /** `production` refuses what is only fit for a laptop. @default 'local' */
  readonly profile?: 'local' | 'production'
  /** What an undeclared effect counts as (S21). @default 'declared' */
  readonly effectDefault?: 'declared' | 'from-risk'
  readonly retention?: RetentionOptions
  /** Who signs checkpoints of the evidence, and where they are kept (S39). */
  readonly audit?: AuditOptions
  /** Who is told of approvals. @default nobody */
  readonly notify?: Pick<NotifierOptions, 'channels' | 'links'>
  /** Where callers may have themselves called back, and what the calls are signed with. @default nowhere */
  readonly callback?: CallbackOptions
  /** Origins on private addresses, or on this machine, that the runtime itself may reach for all of the above. @default none */
  readonly egressPrivate?: readonly string[]
  /**
   * What wraps the keys of secrets in the store: 32 bytes, `file:PATH`, `env:NAME` or `command:PROGRAM ARG…`. Processes
   * that share a store share it. @default in profile local for a database file one beside it, for memory one that ends with the process
   */
  readonly masterKey?: MasterKeyChoice
  /** Where secrets of tools come from, in this order. @default the store, then the environment */
  readonly secretProviders?: readonly ProviderSettings[]
  /** By which tools of long work report its end. @default they are asked */
  readonly toolCallbacks?: ToolCallbacks
  /** Commands of this machine that tools of type cli may run: names, or whole paths. @default none */
  readonly cliAllow?: readonly string[]
  /** Hears what apply would warn of in the tools of the program. @default a process warning */
  readonly onWarning?: (message: string) => void
  /** Made beforehand by whoever wants to hear of the start as well. */
  readonly events?: Events
  /** Time, chance and network. @default those of the system */
  readonly world?: World
}

/** Every option by name: a slip in one would otherwise silently not be set. */
export const RUNTIME_OPTIONS: KnownOptions<RuntimeOptions> = {
  store: true,
  tools: true,
  profile: true,
  effectDefault: true,
  retention: true,
  audit: true,
  notify: true,
  callback: true,
  toolCallbacks: true,
  cliAllow: true,
  masterKey: true,
  secretProviders: true,
  egressPrivate: true,
  onWarning: true,
  events: true,
  world: true,
}
