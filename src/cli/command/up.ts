// writ up: makes a runtime and a server on a data folder and runs them until it is told to stop. One process, one pid.
import { resolve } from 'node:path'
import {
  type Config,
  flagOf,
  SETTING_NAMES,
  type SettingName,
  settingOf,
} from '../../config/config-schema.ts'
import { resolveConfig } from '../../config/resolve-config.ts'
import type { World } from '../../util/world.ts'
import { CliError, EXIT, messageOf } from '../cli-error.ts'
import { defineCommand, type FlagSpec } from '../command.ts'
import { isAlive, readServerNote, removeServerNote, writeServerNote } from '../data-folder.ts'
import { startExamples, type Tour } from '../examples.ts'
import { type OpenData, openData } from '../open-data.ts'
import { packageVersion } from '../package-version.ts'
import { withProgress } from '../progress.ts'
import { renderStart } from '../start-text.ts'
import { storeFixOf } from '../store-fix.ts'
import type { Terminal } from '../terminal.ts'

const FILES: readonly SettingName[] = [
  'audit_key',
  'token_keys',
  'oidc',
  'notify',
  'link_key',
  'callback_key',
  'secret_providers',
]

/** Every setting that is no secret has a flag. Its default is not the flag's: the environment comes between. */
const SETTING_FLAGS: Readonly<Record<string, FlagSpec>> = Object.fromEntries(
  SETTING_NAMES.map(settingOf)
    .filter(({ secret }) => !secret)
    .map((setting): [string, FlagSpec] => [
      flagOf(setting.name),
      {
        type: setting.kind === 'boolean' ? 'boolean' : 'string',
        description: `${setting.description}${setting.default === undefined ? '' : ` Default: ${setting.default}.`}`,
        ...(setting.values ? { values: setting.values, placeholder: 'NAME' } : {}),
        ...(setting.name === 'host' ? { placeholder: 'ADDRESS' } : {}),
        ...(setting.kind === 'integer' ? { placeholder: 'NUMBER' } : {}),
        ...(FILES.includes(setting.name) ? { placeholder: 'FILE', completes: 'file' as const } : {}),
        ...(setting.name === 'public_url' ? { placeholder: 'URL' } : {}),
        ...(setting.name === 'cli_allow' ? { placeholder: 'COMMANDS' } : {}),
        ...(setting.name === 'master_key' ? { placeholder: 'WHERE' } : {}),
        ...(setting.name === 'audit_anchor' ? { placeholder: 'FILE|URL' } : {}),
        ...(setting.name === 'data' ? { placeholder: 'FOLDER', completes: 'folder' as const } : {}),
      },
    ]),
)

export const command = defineCommand({
  name: 'up',
  summary: 'Start a server',
  details: [
    'Runs in the foreground until SIGTERM or SIGINT. It then takes no new calls, lets those under way end, and exits with 0; a second signal ends it at once, with 130 or 143. A store that can no longer be trusted ends it with 7, and so does another replica that took over from it.',
    'The first start on a data folder makes an admin token there, in a file that only its owner can read; the other commands find it. Profile production takes the token from WRIT_ADMIN_TOKEN instead, and the keys that sign tokens from --token-keys, which writ token rotate makes. Every flag but --examples can also be set in the environment: see the configuration page.',
  ],
  args: [],
  flags: {
    ...SETTING_FLAGS,
    examples: { type: 'boolean', description: 'Load the example tools and print commands to try.' },
  },
  examples: [
    { line: 'writ up --examples', does: 'A server to play with' },
    {
      line: 'WRIT_ADMIN_TOKEN=$(cat /run/secrets/writ) writ up --profile production --token-keys token-keys.json --host 0.0.0.0 --behind-proxy',
      does: 'A server behind a proxy that speaks TLS',
    },
  ],
  async run({ flags, terminal }) {
    const config = readConfig(terminal, flags)
    const data = openData(terminal, config)
    try {
      return await runServer(terminal, config, data, flags.examples === true)
    } finally {
      removeServerNote(data.folder, terminal.pid)
    }
  },
})

function readConfig(terminal: Terminal, flags: Readonly<Record<string, unknown>>) {
  const given: Partial<Record<SettingName, string | boolean>> = {}
  for (const name of SETTING_NAMES) {
    const value = flags[flagOf(name)]
    if (typeof value === 'string' || value === true) given[name] = value
  }
  const result = resolveConfig({ flags: given, env: terminal.env })
  if (result.ok) return result.config
  const [first, ...rest] = result.problems
  throw new CliError(first?.message ?? 'the configuration is not valid', {
    exit: EXIT.usage,
    lines: rest.map(({ message, fix }) => `${message}; ${fix}`),
    ...(first === undefined ? {} : { fix: first.fix }),
  })
}

const DAY_MS = 86_400_000
/** How long answers may take to leave once every call has ended. */
const LAST_ANSWERS_MS = 1000
/** How long the end may take in all when the store has failed. */
const FAILED_END_MS = 3 * LAST_ANSWERS_MS

/** Resolves with the exit code once the server has stopped. */
async function runServer(
  terminal: Terminal,
  config: Config,
  data: OpenData,
  examples: boolean,
): Promise<number> {
  const parts = await loadParts()
  const {
    createRuntime,
    createServer,
    createGrpcServer,
    createEvents,
    createLog,
    createMetrics,
    createWorld,
  } = parts
  const world = createWorld()
  const events = createEvents()
  const log = createLog({ world, level: config.log_level })
  const stopWatching = log.watch(events)
  const metrics = createMetrics({ events, health: async () => runtime.health() })
  const failed = new Promise<StoreFailed>((resolve) => {
    events.on('store:failed', ({ message, fenced = false }) => resolve({ storeFailed: message, fenced }))
  })
  const onTrouble = (message: string) => log.logger.warn({ part: 'identity' }, message)
  const { egressPrivateOf, openIdentity, identityOf } = await import('../open-identity.ts')
  const identity = openIdentity(terminal, config, data, world, onTrouble)
  const { openCallback, openNotify, openToolCallbacks, linkPagesOf } = await import('../open-notify.ts')
  const notify = openNotify(terminal, config, data.folder, world)
  const callback = openCallback(terminal, config)
  const toolCallbacks = openToolCallbacks(terminal, config, data.folder, world)
  const { openSecrets } = await import('../open-secrets.ts')
  const secrets = openSecrets(terminal, config, data.folder)
  const runtime = await startOrRefuse(
    () =>
      withProgress(terminal, 'opening the store and recovering what was under way', () =>
        createRuntime({
          world,
          events,
          store: storeOf(config, data),
          profile: config.profile,
          effectDefault: config.effect_default,
          retention: retentionOf(config),
          audit: auditOf(terminal, config, data),
          egressPrivate: egressPrivateOf(config),
          cliAllow: config.cli_allow?.split(',').map((command) => command.trim()) ?? [],
          ...secrets,
          ...(notify === undefined ? {} : { notify }),
          ...(callback === undefined ? {} : { callback }),
          ...(toolCallbacks === undefined ? {} : { toolCallbacks }),
        }),
      ),
    data,
  )
  if (data.ledgerLost) terminal.err(lostText(data))
  const { server, grpc } = await createServers().catch(async (error: unknown) => {
    await runtime.close({ drainMs: 0 })
    throw error
  })
  let tour: Tour | undefined

  async function createServers() {
    const common = {
      runtime,
      world,
      metrics,
      ...identityOf(identity, config, data, runtime, world, onTrouble),
      logger: log.logger,
      host: config.host,
      bodyLimit: config.body_limit,
    }
    const pages = linkPagesOf(notify, config, runtime, world)
    return {
      server: await createServer({ ...common, ...pages, port: config.port }),
      grpc: config.grpc_port === 0 ? undefined : createGrpcServer({ ...common, port: config.grpc_port }),
    }
  }

  async function stop(drainMs: number): Promise<void> {
    // Both at once: from now on new calls are told to come back, until those under way have ended.
    const ended = runtime.close({ drainMs })
    const answered = Promise.all([server.drain(ended), grpc?.drain(ended)])
    await ended
    await within(world, LAST_ANSWERS_MS, answered)
    await Promise.all([server.close(), grpc?.close()])
    await tour?.stop()
    stopWatching()
    await metrics.close()
    await log.close()
    await world.network.destroy()
  }

  async function run(): Promise<void> {
    const stopped = stopSignal(terminal)
    const { url } = await startOrRefuse(() => server.listen())
    const grpcUrl = grpc && (await startOrRefuse(() => grpc.listen())).url.replace('http:', 'grpc:')
    writeServerNote(data.folder, {
      url,
      pid: terminal.pid,
      started_at: new Date(world.clock.now()).toISOString(),
    })
    tour = examples ? await startOrRefuse(() => startExamples(runtime)) : undefined
    terminal.out(
      renderStart({
        url,
        ...(grpcUrl === undefined ? {} : { grpcUrl }),
        config,
        data,
        tour,
        version: packageVersion(),
      }),
    )
    await stopped
    await stop(config.drain_ms)
  }

  try {
    const end = await Promise.race([run(), failed])
    if (end === undefined) return EXIT.ok
    sayFailed(terminal, config, data, end)
    try {
      // Whoever waits is told that nothing was sent, or that nobody knows; what hangs must not hold the end up.
      await within(world, FAILED_END_MS, stop(LAST_ANSWERS_MS))
      removeServerNote(data.folder, terminal.pid)
    } finally {
      // On a disk that became read-only the note stays; commands see that its process is gone.
      terminal.exit(EXIT.failed)
    }
  } catch (error) {
    await stop(0)
    throw error
  }
}

function storeOf({ store, store_lease_ms, store_pool }: Config, { folder }: OpenData) {
  if (store === 'memory') return { kind: 'memory' as const }
  if (store === 'sqlite') return { kind: 'sqlite' as const, path: folder.database }
  return { kind: 'postgres' as const, url: store, leaseMs: store_lease_ms, poolSize: store_pool }
}

function retentionOf(config: Config) {
  return {
    keepMs: config.retention_days * DAY_MS,
    tombstoneMs: config.tombstone_days * DAY_MS,
    ...(config.evidence_days === 0 ? {} : { evidenceMs: config.evidence_days * DAY_MS }),
  }
}

function auditOf({ cwd }: Terminal, config: Config, { folder }: OpenData) {
  const { store, audit_key: key, audit_anchor: anchor, accept_rewound: acceptRewound } = config
  // What ends with the process has nothing to be held to later.
  if (store === 'memory') return {}
  const given = anchor !== undefined && /^https?:/i.test(anchor) ? { webhook: anchor } : undefined
  return {
    key: key === undefined ? { file: folder.auditKey, make: true } : { file: resolve(cwd, key) },
    headFile: store === 'sqlite' ? folder.auditHead : folder.databaseHead,
    ...(anchor === undefined ? {} : { anchor: given ?? { file: resolve(cwd, anchor) } }),
    acceptRewound,
  }
}

interface StoreFailed {
  readonly storeFailed: string
  /** Another replica has ended this process. */
  readonly fenced: boolean
}

/** S37: nothing that is written from now on can be trusted, so there is nothing to wait for but the last answers. */
function sayFailed(
  terminal: Terminal,
  { store }: Config,
  { folder }: OpenData,
  { storeFailed, fenced }: StoreFailed,
) {
  if (fenced) {
    terminal.err('writ: another replica has ended this process after its lease ran out; nothing is sent\n')
    return terminal.err('Fix: start it again; what was under way is with the other replicas.\n')
  }
  terminal.err(`writ: the store failed, and nothing is sent any more: ${storeFailed}\n`)
  const where = store === 'sqlite' ? ` (${folder.database})` : ''
  terminal.err(
    `Fix: mend the disk or the database${where}, then start again: what was under way is recovered.\n`,
  )
}

/** Loaded when a server starts: help, completion and the reference page need none of it. */
async function loadParts() {
  const [runtime, event, server, log, metrics] = await Promise.all([
    import('../../runtime.ts'),
    import('../../event/event.ts'),
    import('../../server/index.ts'),
    import('../../telemetry/log.ts'),
    import('../../telemetry/metrics.ts'),
    import('../open-notify.ts'),
  ])
  return { ...runtime, ...event, ...server, ...log, ...metrics }
}

/** The first signal asks for the end; the second does not wait for it. */
function stopSignal(terminal: Terminal): Promise<void> {
  return new Promise((resolve) => {
    let asked = false
    terminal.onStop((signal) => {
      if (asked) terminal.exit(signal === 'SIGINT' ? 130 : 143)
      asked = true
      terminal.err(`writ: ${signal}: letting calls end; once more ends at once\n`)
      resolve()
    })
  })
}

/** What keeps a server from starting is for the operator to mend, and no bug. `data` that another server has says which. */
async function startOrRefuse<T>(start: () => Promise<T>, data?: OpenData): Promise<T> {
  try {
    return await start()
  } catch (error) {
    if (error instanceof CliError) throw error
    const message = messageOf(error)
    const note = data && readServerNote(data.folder)
    const fix =
      note && isAlive(note.pid)
        ? `process ${note.pid} listens on ${note.url}: use or stop that one`
        : storeFixOf(message)
    throw new CliError(message, { exit: EXIT.startFailed, ...(fix === undefined ? {} : { fix }) })
  }
}

function lostText({ folder }: OpenData): string {
  return [
    'writ: WARNING: the ledger is new: keys of earlier calls are forgotten, and what they stood for can be sent again',
    `  ${folder.path} was used before, but there was no ledger in ${folder.database}`,
    'Fix: if that is not meant, stop this server, and start it on the folder or the copy that has the ledger',
    '',
  ].join('\n')
}

function within(world: World, ms: number, work: Promise<unknown>): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = world.after(ms, resolve)
    work.then(() => resolve(), reject).finally(() => timer.cancel())
  })
}
