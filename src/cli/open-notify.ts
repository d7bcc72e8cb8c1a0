// What a server is told to tell of approvals: the file of targets, and the key of the links in its messages.
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Config } from '../config/config-schema.ts'
import { type ApprovalLinks, createApprovalLinks } from '../notify/approval-link.ts'
import { type ApprovalLinkDoor, createApprovalLinkDoor } from '../notify/approval-link-door.ts'
import type { Channel } from '../notify/channel.ts'
import { openLinkKey } from '../notify/link-key-file.ts'
import { readTargets } from '../notify/read-targets.ts'
import { secretOf } from '../notify/secret-source.ts'
import { formatProblem } from '../resource/problem.ts'
import type { Runtime } from '../runtime-api.ts'
import type { World } from '../util/world.ts'
import { CliError, EXIT, messageOf } from './cli-error.ts'
import type { DataFolder } from './data-folder.ts'
import type { Terminal } from './terminal.ts'

export interface OpenNotify {
  readonly channels: readonly Channel[]
  readonly links?: ApprovalLinks
}

/** Where callers may have themselves called back; undefined where nowhere. */
export function openCallback(
  terminal: Terminal,
  { callback_allow: allow, callback_key: file }: Config,
): { readonly allow: readonly string[]; readonly secret: string } | undefined {
  if (allow === undefined) return undefined
  const refuse = (message: string) => new CliError(message, { exit: EXIT.startFailed })
  const origins = allow.split(',').map((one) => one.trim())
  const wrong = origins.find(
    (one) => !URL.canParse(one) || new URL(one).origin !== one || !one.startsWith('http'),
  )
  if (wrong !== undefined)
    throw refuse(`callback_allow: '${wrong}' is no origin. Fix: write it such as https://hooks.example.com`)
  const secret = secretOf({ env: terminal.env, folder: terminal.cwd }, { file: file ?? '' })
  if (file === undefined)
    throw refuse('callback_allow: nothing signs the calls. Fix: name the file of a secret with callback_key')
  if (!secret.ok) throw refuse(`callback_key: ${secret.message}. Fix: ${secret.fix}`)
  return { allow: origins, secret: secret.value }
}

/** By which tools report the end of long work; undefined where nobody can reach this server. */
export function openToolCallbacks(
  terminal: Terminal,
  config: Config,
  folder: DataFolder,
  world: Pick<World, 'secret'>,
): { readonly publicUrl: string; readonly key: string } | undefined {
  const { public_url: publicUrl } = config
  return publicUrl === undefined
    ? undefined
    : { publicUrl, key: readLinkKey(terminal, config, folder, world) }
}

/** Made at the first start, unless it is named. */
function readLinkKey(
  { cwd }: Terminal,
  { link_key: linkKey }: Config,
  folder: DataFolder,
  world: Pick<World, 'secret'>,
): string {
  try {
    return linkKey === undefined
      ? openLinkKey(folder.linkKey, world, { make: true })
      : openLinkKey(resolve(cwd, linkKey), world, { make: false })
  } catch (error) {
    throw new CliError(messageOf(error), { exit: EXIT.startFailed })
  }
}

/** Undefined where nothing is set up. Every mistake of the file is named before the server starts. */
export function openNotify(
  terminal: Terminal,
  config: Config,
  folder: DataFolder,
  world: Pick<World, 'secret'>,
): OpenNotify | undefined {
  const { notify, public_url: publicUrl, profile } = config
  if (notify === undefined) return undefined
  const file = resolve(terminal.cwd, notify)
  const { channels, problems } = readTargets(readOrRefuse(file), notify, {
    env: terminal.env,
    folder: dirname(file),
    profile,
    links: publicUrl !== undefined,
  })
  const [first, ...rest] = problems.filter(({ severity }) => severity === 'error').map(formatProblem)
  if (first !== undefined) throw new CliError(first, { exit: EXIT.startFailed, lines: rest })
  for (const warning of problems) terminal.err(`writ: ${formatProblem(warning)}\n`)
  if (publicUrl === undefined) return { channels }
  const key = readLinkKey(terminal, config, folder, world)
  return { channels, links: createApprovalLinks(key, publicUrl) }
}

/** What the server needs to answer the links that it has made. */
export function linkPagesOf(
  notify: OpenNotify | undefined,
  { public_url: publicUrl }: Config,
  { approvals }: Pick<Runtime, 'approvals'>,
  world: World,
): { readonly approvalLinks?: { readonly door: ApprovalLinkDoor; readonly publicUrl: string } } {
  if (notify?.links === undefined || publicUrl === undefined) return {}
  const { links, channels } = notify
  return { approvalLinks: { door: createApprovalLinkDoor({ world, links, channels, approvals }), publicUrl } }
}

function readOrRefuse(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw new CliError(`the file of targets ${file} cannot be read: ${messageOf(error)}`, {
      exit: EXIT.startFailed,
      fix: 'give its path with --notify, or unset WRIT_NOTIFY',
    })
  }
}
