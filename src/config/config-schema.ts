// The settings of a server: one schema gives the type, the checks, the defaults and the reference page.
import Type, { type Static } from 'typebox'

export const PROFILES = ['local', 'production'] as const
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const

/** The shortest admin token that is taken from the environment: 32 characters of a random source cannot be guessed. */
export const ADMIN_TOKEN_MIN_LENGTH = 32

const settings = {
  host: Type.String({
    default: '127.0.0.1',
    minLength: 1,
    maxLength: 255,
    description:
      'Address to listen on. Profile `production` takes a non-loopback one only with `behind_proxy`.',
  }),
  port: Type.Integer({
    default: 7411,
    minimum: 0,
    maximum: 65535,
    description: 'Port to listen on; 0 takes a free one.',
  }),
  grpc_port: Type.Integer({
    default: 0,
    minimum: 0,
    maximum: 65535,
    description:
      'Port of the same address on which calls are taken over gRPC, without TLS of its own as well; 0 takes none.',
  }),
  data: Type.String({
    default: '.writ',
    minLength: 1,
    description: 'Folder of the database, the lock and, in profile `local`, the admin token.',
  }),
  store: Type.String({
    default: 'sqlite',
    pattern: '^(sqlite|memory|postgres(ql)?://.+)$',
    description:
      '`sqlite`: a database file in the data folder, for one server. `postgres://USER:PASSWORD@HOST:PORT/DATABASE`: a PostgreSQL (14 or newer, reached directly or through a pooler that keeps sessions) that any number of servers share. `memory`: nothing is kept when the server ends.',
  }),
  store_lease_ms: Type.Integer({
    default: 10_000,
    minimum: 1_000,
    maximum: 600_000,
    description:
      'With PostgreSQL: how long after its last write a server counts as ended, so that others take over what it had under way, in milliseconds.',
  }),
  store_pool: Type.Integer({
    default: 8,
    minimum: 1,
    maximum: 500,
    description:
      'With PostgreSQL: connections for reading. Each server uses two more, to write and to listen.',
  }),
  profile: Type.Enum(PROFILES, {
    default: 'local',
    description:
      '`local` is for a laptop. `production` refuses what is only safe there: a non-loopback `host` without `behind_proxy`, and an admin token in a file.',
  }),
  behind_proxy: Type.Boolean({
    default: false,
    description:
      'A proxy in front of the server speaks TLS to the callers. This version of the server has no TLS of its own.',
  }),
  admin_token: Type.Optional(
    Type.String({
      minLength: ADMIN_TOKEN_MIN_LENGTH,
      maxLength: 4096,
      // What an Authorization header can carry.
      pattern: '^[\\x21-\\x7e]+$',
      description:
        'Bearer token of the local admin. Required in profile `production`; in `local` the file `admin-token` in the data folder is used when it is not set.',
    }),
  ),
  token_keys: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'File of the keys (rights 0600) that sign and verify the tokens this server issues; servers that share a store share it. Required in profile `production`, where `writ token rotate --file FILE` makes it. When it is not set: `token-keys.json` in the data folder, made by the first start; with `store` memory, keys that end with the server.',
    }),
  ),
  token_audience: Type.String({
    default: 'writ',
    minLength: 1,
    maxLength: 256,
    pattern: '^[\\x21-\\x7e]+$',
    description: 'Whom tokens that this server issues are for; it takes those for this audience only.',
  }),
  oidc: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'File (YAML or JSON) of the OIDC issuers whose tokens are taken, and what their claims mean here.',
    }),
  ),
  effect_default: Type.Enum(['declared', 'from-risk'], {
    default: 'declared',
    description:
      'What a tool that declares no effect is taken for. `declared`: side-effectful and never sent twice. `from-risk`: by its risk level, for old manifests.',
  }),
  drain_ms: Type.Integer({
    default: 10_000,
    minimum: 0,
    maximum: 3_600_000,
    description: 'How long calls under way may take to end after SIGTERM or SIGINT, in milliseconds.',
  }),
  body_limit: Type.Integer({
    default: 4_194_304,
    minimum: 1024,
    maximum: 1_073_741_824,
    description: 'Largest request body, in bytes.',
  }),
  log_level: Type.Enum(LOG_LEVELS, {
    default: 'info',
    description: 'Least severe log line to write. Lines go to stderr as JSON.',
  }),
  retention_days: Type.Integer({
    default: 7,
    minimum: 1,
    maximum: 3650,
    description: 'Days that the payload and the outcome of a settled call are kept.',
  }),
  tombstone_days: Type.Integer({
    default: 400,
    minimum: 1,
    maximum: 36_500,
    description: 'Days after that for which the key is still known, so that it cannot run again.',
  }),
  evidence_days: Type.Integer({
    default: 0,
    minimum: 0,
    maximum: 36_500,
    description:
      'Days that evidence is kept. It is dropped up to a signed checkpoint, about a day later at most; 0 keeps it for good.',
  }),
  audit_key: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'File of the private key (Ed25519, PEM, rights 0600) that signs checkpoints of the evidence; servers that share a store share it. When it is not set: `audit-key.pem` in the data folder, made by the first start.',
    }),
  ),
  audit_anchor: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'Where checkpoints are kept outside the store as well: a file that gets a line for each, or an http or https address that each is sent to with POST. Set or not, the newest one is in `audit-head.json` in the data folder, for a database elsewhere in `audit-head.database.json`.',
    }),
  ),
  notify: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'File (YAML or JSON) of who is told of approvals: webhooks, Slack, Teams, mail. See the guide on notifications.',
    }),
  ),
  public_url: Type.Optional(
    Type.String({
      maxLength: 1024,
      pattern: '^https?://[A-Za-z0-9.:\\[\\]-]+(/[A-Za-z0-9._~/-]*)?$',
      description:
        'Address by which people and tools reach this server, such as `https://writ.example.com`: links in messages begin with it, and tools of type webhook-callback report to it. Without it, messages hold no links, and such tools are asked.',
    }),
  ),
  link_key: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'File of the key (at least 43 letters and digits, rights 0600) that signs links in messages, and that the tokens of callbacks are made from; servers that share a store share it. When it is not set: `link-key` in the data folder, made by the first start.',
    }),
  ),
  callback_allow: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 4096,
      description:
        'Origins, with commas between them, such as `https://hooks.example.com`: where callers may have themselves told of the end of a call that waited for approval. Without it, nowhere.',
    }),
  ),
  callback_key: Type.Optional(
    Type.String({
      minLength: 1,
      description: 'File (rights 0600) of the secret that signs those calls; needed with `callback_allow`.',
    }),
  ),
  master_key: Type.Optional(
    Type.String({
      pattern: '^(file|env|command):[^\\n]+$',
      maxLength: 4096,
      description:
        'Where the key is that wraps the keys of secrets in the store: `file:PATH` (rights 0600), `env:NAME`, or `command:PROGRAM ARG…`, run without a shell, which prints it. 32 bytes in base64 or hex; several, one to a line, with the newest first. Servers that share a store share it. When it is not set: `master-key` in the data folder, made by the first start; in profile `production`, which takes none from there, the store keeps no secrets.',
    }),
  ),
  secret_providers: Type.Optional(
    Type.String({
      minLength: 1,
      description:
        'File (YAML or JSON) of where the secrets of tools come from: the store, the environment, files, Vault, Kubernetes. When it is not set: the store, then variables `WRIT_SECRET_…`. See the guide on secrets.',
    }),
  ),
  cli_allow: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 4096,
      description:
        'Commands, with commas between them, such as `jq,/opt/tools/report`: what tools of type cli may run on this machine. Names are looked up in `/usr/local/sbin`, `/usr/local/bin`, `/usr/sbin`, `/usr/bin`, `/sbin` and `/bin`. Without it, none. In profile `production` no tool of type cli runs, and MCP servers over standard streams are started from these commands only.',
    }),
  ),
  egress_private: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 4096,
      description:
        'Origins, with commas between them, such as `https://vault.internal:8200` or `smtp://mail.internal:25`: what the server itself may reach on private addresses and on this machine, for keys of issuers, webhooks, mail, anchors and secrets. Without it, public addresses; in profile `local` this machine, too. Tools declare their own (`egress`).',
    }),
  ),
  accept_rewound: Type.Boolean({
    default: false,
    description:
      'Start although the store was set back, as by an old backup, and calls made since may be repeated. Give it once; it is put into evidence.',
  }),
}

export const ConfigSchema = Type.Object(settings, { additionalProperties: false })

export type Config = Readonly<Static<typeof ConfigSchema>>
export type SettingName = keyof Config
export const SETTING_NAMES = Object.keys(settings) as readonly SettingName[]

/** What the schema of one setting says, for reading values, for flags and for the reference page. */
export interface Setting {
  readonly name: SettingName
  readonly kind: 'string' | 'integer' | 'boolean'
  readonly description: string
  readonly default?: string | number | boolean
  readonly values?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  /** Never on a command line, never in a message. */
  readonly secret: boolean
}

/** Settings that must not be seen in a process list have no flag. */
const SECRETS: ReadonlySet<SettingName> = new Set(['admin_token', 'store'])

export function settingOf(name: SettingName): Setting {
  const schema: {
    readonly type?: string
    readonly enum?: readonly string[]
    readonly description?: string
    readonly default?: unknown
    readonly minimum?: number
    readonly maximum?: number
  } = settings[name]
  const { default: fallback } = schema
  return {
    name,
    kind: schema.type === 'integer' || schema.type === 'boolean' ? schema.type : 'string',
    description: schema.description ?? '',
    ...(typeof fallback === 'string' || typeof fallback === 'number' || typeof fallback === 'boolean'
      ? { default: fallback }
      : {}),
    ...(schema.enum ? { values: schema.enum } : {}),
    ...(schema.minimum === undefined ? {} : { minimum: schema.minimum }),
    ...(schema.maximum === undefined ? {} : { maximum: schema.maximum }),
    secret: SECRETS.has(name),
  }
}

export function variableOf(name: SettingName): string {
  return `WRIT_${name.toUpperCase()}`
}

export function flagOf(name: SettingName): string {
  return name.replaceAll('_', '-')
}
