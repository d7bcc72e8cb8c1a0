// Reads the file of targets (YAML or JSON): every mistake at once, with its line; secrets from elsewhere only.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { APPROVAL_EVENTS, type ApprovalEvent } from '../contract/approval-event.ts'
import { createFindings, inReadingOrder, type Path, type Problem, toProblem } from '../resource/problem.ts'
import { locate, type SourceNode, toJson } from '../resource/source-tree.ts'
import { readYaml } from '../resource/yaml-source.ts'
import type { JsonObject } from '../util/json.ts'
import { compileSchema } from '../util/json-schema.ts'
import { splitPointer } from '../util/pointer.ts'
import type { Channel, Smtp } from './channel.ts'
import { type SecretSource, secretOf } from './secret-source.ts'
import { type Target, TargetsSchema } from './target-schema.ts'

export interface ReadTargetsOptions extends SecretSource {
  readonly profile: 'local' | 'production'
  /** Whether links can be made: there is an address that people reach this server by. */
  readonly links: boolean
}

export interface ReadTargets {
  /** Empty where anything is wrong. */
  readonly channels: readonly Channel[]
  readonly problems: readonly Problem[]
}

/** A person is not told of every step by default. */
const FOR_PEOPLE: readonly ApprovalEvent[] = APPROVAL_EVENTS.filter(
  (event) => event !== 'approval.voted' && event !== 'approval.delegated' && event !== 'approval.used',
)
const MIN_SECRET = 16
const SMTP_PORTS = { tls: 465, starttls: 587, none: 25 } as const
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i

const WEB_FIELDS = ['url', 'url_env', 'url_file'] as const
const FIELDS: Readonly<Record<Target['type'], readonly string[]>> = {
  webhook: [...WEB_FIELDS, 'secret_env', 'secret_file'],
  slack: WEB_FIELDS,
  teams: WEB_FIELDS,
  email: ['smtp', 'from', 'to'],
}
const COMMON = ['name', 'type', 'namespaces', 'events', 'approvers']

/** Never throws, and never says what a secret is. */
export function readTargets(
  text: string | Uint8Array,
  file: string,
  options: ReadTargetsOptions,
): ReadTargets {
  const { documents, problems: broken } = readYaml(text)
  const problems = broken.map(({ at, ...one }) => toProblem({ ...one, severity: 'error' }, file, at))
  const [root, second] = documents
  if (root === undefined) return { channels: [], problems }
  const findings = createFindings()
  if (second !== undefined) findings.error([], 'the file holds more than one document', 'keep one list')
  // TypeBox keeps non-enumerable marks on its schemas.
  const schema = JSON.parse(JSON.stringify(TargetsSchema)) as JsonObject
  const value = toJson(root)
  for (const { path, message } of compileSchema(schema).check(value)) {
    findings.error(pathOf(path, root), message)
  }
  const channels =
    findings.all.length > 0
      ? []
      : (value as unknown as readonly Target[]).flatMap((target, at, all) => {
          if (all.findIndex(({ name }) => name === target.name) !== at)
            findings.error([at, 'name'], `is taken: another target is called ${target.name}`, 'rename one')
          return channelsOf(target, at)
        })
  for (const one of findings.all) problems.push(toProblem(one, file, locate(root, one.path)))
  const wrong = problems.some(({ severity }) => severity === 'error')
  return { channels: wrong ? [] : channels, problems: inReadingOrder(problems) }

  function channelsOf(target: Target, at: number): readonly Channel[] {
    const { type, name, approvers = [], namespaces = ['default'] } = target
    for (const field of Object.keys(target)) {
      if (!COMMON.includes(field) && !FIELDS[type].includes(field))
        findings.error([at, field], `is nothing that a target of type ${type} has`, 'remove it')
    }
    if (approvers.length > 0 && !options.links)
      findings.error([at, 'approvers'], 'get links, and links need an address', 'set public_url')
    const events = target.events ?? (type === 'webhook' ? APPROVAL_EVENTS : FOR_PEOPLE)
    const people = approvers.map(({ actor, roles = [] }) => ({ actor, roles }))
    const base = { name, target: name, namespaces, events, approvers: people }
    if (type === 'email') return mailChannels(target, at, base)
    const url = urlOf(target, at)
    if (type === 'webhook') {
      const secret = oneSecret(target, at, 'secret', MIN_SECRET)
      return url === undefined || secret === undefined ? [] : [{ ...base, type, url, secret }]
    }
    if (approvers.length > 1) {
      findings.error(
        [at, 'approvers', 1],
        'is one approver too many: whoever reads a message there could decide in the name of all of them',
        'make a target for each person, with a direct message as its address',
      )
    }
    return url === undefined ? [] : [{ ...base, type, url }]
  }

  function mailChannels(
    target: Target,
    at: number,
    base: Omit<Channel, 'type' | 'url' | 'secret'>,
  ): readonly Channel[] {
    const { from, to, approvers = [] } = target
    const smtp = smtpOf(target, at)
    if (from === undefined)
      findings.error([at, 'from'], 'is missing', 'give the address that mail comes from')
    if (to === undefined && approvers.length === 0)
      findings.error([at, 'to'], 'is missing', 'give addresses, or approvers with an email each')
    for (const [index, { email, actor }] of approvers.entries()) {
      if (email === undefined)
        findings.error([at, 'approvers', index], 'has no email to send its link to', 'add email')
      if (approvers.findIndex((one) => one.actor === actor) !== index)
        findings.error([at, 'approvers', index, 'actor'], 'is given twice', 'keep one of them')
    }
    if (smtp === undefined || from === undefined) return []
    const shared = { ...base, type: 'email' as const, smtp, from }
    // Each approver by itself: a link is for one person, and what failed for one is not sent to the others again.
    const personal = approvers.map(({ actor, email = '', roles = [] }) => ({
      ...shared,
      name: `${base.name}/${actor}`,
      to: [email],
      approvers: [{ actor, roles }],
    }))
    return to === undefined ? personal : [{ ...shared, to, approvers: [] }, ...personal]
  }

  function smtpOf({ smtp }: Target, at: number): Smtp | undefined {
    if (smtp === undefined) {
      findings.error([at, 'smtp'], 'is missing', 'give host and port of the mail server')
      return undefined
    }
    const { host, secure = 'starttls', user, ca_file: caFile } = smtp
    if (secure === 'none' && !LOOPBACK.test(host))
      findings.error(
        [at, 'smtp', 'secure'],
        'is none, which is only for the machine itself',
        'use starttls or tls',
      )
    const hasPassword = smtp.password_env !== undefined || smtp.password_file !== undefined
    if ((user === undefined) === hasPassword)
      findings.error([at, 'smtp'], 'has a user or a password, but not both', 'give both, or neither')
    const password = hasPassword ? oneSecret(smtp, at, 'password', 1, 'smtp') : undefined
    const ca = caFile === undefined ? undefined : pemOf(caFile, [at, 'smtp', 'ca_file'])
    return {
      host,
      port: smtp.port ?? SMTP_PORTS[secure],
      secure,
      ...(user === undefined || password === undefined ? {} : { login: { user, password } }),
      ...(ca === undefined ? {} : { ca }),
    }
  }

  function pemOf(name: string, path: Path): string | undefined {
    try {
      const pem = readFileSync(resolve(options.folder, name), 'utf8')
      if (pem.includes('-----BEGIN CERTIFICATE-----')) return pem
      findings.error(
        path,
        'names a file that holds no certificate in PEM form',
        'give the file of the authority',
      )
    } catch {
      findings.error(path, 'names a file that cannot be read', `see that ${name} is there`)
    }
    return undefined
  }

  function urlOf(target: Target, at: number): string | undefined {
    const url = oneSecret(target, at, 'url', 1)
    if (url === undefined) return undefined
    const path = [at, WEB_FIELDS.find((field) => target[field] !== undefined) ?? 'url']
    const parsed = URL.parse(url)
    if (
      parsed === null ||
      !/^https?:$/.test(parsed.protocol) ||
      parsed.username !== '' ||
      parsed.password !== ''
    ) {
      findings.error(
        path,
        'is no http or https address without credentials',
        'write it like https://example.com/hook',
      )
      return undefined
    }
    if (parsed.protocol === 'http:' && !LOOPBACK.test(parsed.hostname)) {
      const why = 'is sent what approvals are about without TLS'
      if (options.profile === 'production') findings.error(path, why, 'use https')
      else findings.warn(path, why, 'use https')
    }
    if (target.type !== 'webhook' && target.url !== undefined)
      findings.warn(path, 'is a secret: whoever has it can post there', 'use url_env or url_file')
    return url
  }

  /** Exactly one of `WHAT`, `WHAT_env` and `WHAT_file`; only addresses may stand in the file itself. */
  function oneSecret(
    from: Readonly<Record<string, unknown>>,
    at: number,
    what: 'url' | 'secret' | 'password',
    min: number,
    inside?: string,
  ): string | undefined {
    const path = inside === undefined ? [at] : [at, inside]
    const names = [...(what === 'url' ? [what] : []), `${what}_env`, `${what}_file`]
    const given = names.filter((name) => from[name] !== undefined)
    const [name] = given
    if (name === undefined || given.length > 1) {
      const message = name === undefined ? 'is missing' : `is given ${given.length} times`
      findings.error([...path, name ?? names[0] ?? what], message, `give one of ${names.join(', ')}`)
      return undefined
    }
    const text = String(from[name])
    if (name === what) return text
    const found = secretOf(options, name.endsWith('_env') ? { env: text } : { file: text })
    if (!found.ok) findings.error([...path, name], found.message, found.fix)
    else if (found.value.length >= min) return found.value
    else
      findings.error(
        [...path, name],
        `leads to a secret of fewer than ${min} characters`,
        "use a random one, such as from 'openssl rand -hex 32'",
      )
    return undefined
  }
}

/** A pointer has list indexes as text; the tree says where they are numbers. */
function pathOf(pointer: string, root: SourceNode): Path {
  let node: SourceNode | undefined = root
  return (splitPointer(pointer) ?? []).map((segment) => {
    const isList: boolean = node?.kind === 'list'
    node =
      node?.kind === 'list'
        ? node.items[Number(segment)]
        : node?.kind === 'object'
          ? node.entries.get(segment)?.node
          : undefined
    return isList ? Number(segment) : segment
  })
}
