// Every field of a Tool manifest, once: its default, its other spellings, where it comes from and whether it is enforced.
// Reading aliases, the reference page and a test against the schema all work from this table (S48).

/** How an alias or a loosely written value becomes the canonical one. */
export type ReadRule =
  | 'lower'
  | 'seconds'
  | 'milliseconds'
  | 'megabytes'
  | 'jitter'
  | 'backoff'
  | 'profile'
  | 'effect-class'
  | 'egress'
  | 'rate'
  | 'concurrency'

export interface FieldAlias {
  readonly path: string
  readonly as?: ReadRule
  /** Only when the value has this form; else the name means something else, or is unknown. */
  readonly when?: 'object' | 'text'
}

export interface FieldRow {
  /** `*` is any name in a map, `[]` any item of a list. */
  readonly path: string
  readonly type: string
  readonly default: string
  readonly aliases: readonly FieldAlias[]
  /** Seed numbers, or the rule of semantics that asks for it. */
  readonly source: readonly string[]
  /** `now`; `descriptive`, where there is nothing to enforce; else why not yet. */
  readonly enforced: string
  readonly description: string
  /** How a loosely written value is read at its own place. */
  readonly reads?: ReadRule
}

interface RowExtras {
  readonly aliases?: readonly (string | FieldAlias)[]
  readonly reads?: ReadRule
}

function field(
  path: string,
  type: string,
  fallback: string,
  source: string,
  enforced: string,
  description: string,
  extras: RowExtras = {},
): FieldRow {
  const aliases = (extras.aliases ?? []).map((alias) => (typeof alias === 'string' ? { path: alias } : alias))
  const reads = extras.reads === undefined ? {} : { reads: extras.reads }
  return {
    path,
    type,
    default: fallback,
    aliases,
    source: source.split(' '),
    enforced,
    description,
    ...reads,
  }
}

const NO = ''
const TYPE_REFUSED = 'calls are refused: this type is not built'
const AUTH_REFUSED = 'calls are refused: credentials are not built'
const NOT_POLLED = 'not polled'

// biome-ignore format: a row reads as a row
export const FIELDS: readonly FieldRow[] = Object.freeze([
  field('apiVersion', 'writ.dev/v1', NO, '002', 'now', 'Version of the manifest format. `orloj.dev/v1` is read too.'),
  field('kind', 'Tool', NO, '002', 'now', 'What is declared; upper and lower case do not matter.'),
  field('metadata', 'object', NO, '002', 'now', 'Who it is.'),
  field('metadata.name', 'name', NO, '001 002 004', 'now', 'Stable for ever. Letters, digits, `.`, `_`, `-`; 1 to 128, starting with a letter or digit.', { aliases: ['spec.toolId', 'spec.tool_id'] }),
  field('metadata.namespace', 'name', 'default', '000 002', 'now', 'Tools, calls and keys of two namespaces never meet. Lower-case letters, digits, `.`, `_`, `-`.'),
  field('metadata.labels', 'map of text', '{}', '002', 'descriptive', 'For finding. No part of the digest.'),
  field('metadata.annotations', 'map of text', '{}', '002', 'descriptive', 'For other programs. No part of the digest.'),
  field('metadata.resourceVersion', 'number', NO, '002', 'now', 'As read back: apply is refused if the resource has changed since.'),
  field('metadata.generation', 'number', NO, '002', 'descriptive', 'Read back; left alone by apply.'),
  field('metadata.createdAt', 'time', NO, '002', 'descriptive', 'Read back; left alone by apply.'),
  field('metadata.updatedAt', 'time', NO, '002', 'descriptive', 'Read back; left alone by apply.'),
  field('spec', 'object', NO, '002', 'now', 'What it is.'),

  field('spec.type', 'http, external, grpc, webhook-callback, mcp, cli, wasm', 'http', '000 002', 'now', 'How the tool is reached. Types that are not built refuse every call. `mcp` is made from its server, never by hand (S46).', { reads: 'lower' }),
  field('spec.endpoint', 'URL', NO, '002', 'now', 'Where it is. Needed for http, external, grpc and webhook-callback; never with a user name or password.'),
  field('spec.description', 'text', NO, '001 002 004', 'descriptive', 'For people and models. No part of the digest.'),
  field('spec.owner', 'text', NO, '001 004', 'descriptive', 'Who answers for schemas, errors, effects and compensation.', { aliases: ['metadata.owner'] }),
  field('spec.version', 'semantic version', '0.0.0', '001 004', 'now', 'Schema and meaning together. Another effect, identity or endpoint origin needs another version (S49).', { aliases: ['metadata.version', 'spec.semver'] }),
  field('spec.digest', 'sha256:...', NO, '004', 'part of the tool digest; the artifact itself is not fetched', 'The container or artifact that the tool is.'),
  field('spec.contract', 'v1, legacy, four-outcome', 'v1', '000 002 004 S7', 'now', 'The dialect that external, grpc and webhook-callback tools are spoken to in.', { reads: 'lower' }),
  field('spec.input_schema', 'JSON Schema 2020-12', NO, '001 002 004', 'now', 'Every call is checked against it; fields outside it are violations unless it says additionalProperties: true (S5). A file name is replaced by the file where the reader has files.', { aliases: ['spec.inputSchema', 'spec.schema.request'] }),
  field('spec.output_schema', 'JSON Schema 2020-12', NO, '001 004', 'now', 'Every output is checked against it.', { aliases: ['spec.outputSchema', 'spec.schema.response'] }),

  field('spec.operations', 'map of operations', 'invoke', '000 004 S4', 'now', 'What the tool can do, by name. Without it there is one operation, `invoke`. An operation takes what it does not say from the tool.'),
  field('spec.operations.*', 'object', NO, '000 004 S4', 'now', 'One operation.'),
  field('spec.operations.*.description', 'text', 'of the tool', 'S4', 'descriptive', 'For people and models.'),
  field('spec.operations.*.input_schema', 'JSON Schema 2020-12', 'of the tool', 'S4', 'now', 'As spec.input_schema.', { aliases: ['spec.operations.*.inputSchema'] }),
  field('spec.operations.*.output_schema', 'JSON Schema 2020-12', 'of the tool', 'S4', 'now', 'As spec.output_schema.', { aliases: ['spec.operations.*.outputSchema'] }),
  field('spec.operations.*.operation_classes', 'list', 'of the tool', 'S4', 'now', 'As spec.operation_classes.', { reads: 'lower' }),
  field('spec.operations.*.effect', 'as spec.effect', 'of the tool', 'S4', 'now', 'Replaces the effect of the tool as a whole.'),
  field('spec.operations.*.timeout', 'duration', 'of the tool', 'S4', 'now', 'As spec.runtime.timeout.', { aliases: [{ path: 'spec.operations.*.timeoutSeconds', as: 'seconds' }] }),
  field('spec.operations.*.retry', 'as spec.runtime.retry', 'of the tool', 'S4', 'now', 'Field by field over the retry of the tool.', { aliases: ['spec.operations.*.retryPolicy'] }),
  field('spec.operations.*.limits', 'as spec.limits', 'of the tool', 'S4', 'timeout_max now; the rest refuses calls: limits are counted per tool', 'Limits of this operation.'),
  field('spec.operations.*.approval_triggers', 'as spec.approval_triggers', '[]', 'S4', 'now', 'Added to those of the tool.', { aliases: ['spec.operations.*.approvalTriggers'] }),
  field('spec.operations.*.errors', 'as spec.errors', '[]', 'S4', 'now', 'Added to those of the tool.'),

  field('spec.capabilities', 'list of labels', '[]', '000 002', 'now', 'Lower case, dot-delimited, two or more segments. A caller needs every one of them (S41).'),
  field('spec.operation_classes', 'list of read, write, delete, admin', 'from effect.class, else from risk_level', '002', 'now', 'For permission. Exactly [read], when declared, also makes the effect read-only (S21).', { reads: 'lower' }),
  field('spec.risk_level', 'low, medium, high, critical', 'low', '000 002', 'now', 'Raises the default isolation of local code and the default operation class.', { reads: 'lower' }),
  field('spec.runtime', 'object', NO, '002', 'now', 'How it runs.'),
  field('spec.runtime.timeout', 'duration', '30s', '000 001 002 004', 'now', 'Bounds one attempt. More than zero.', { aliases: [{ path: 'spec.timeoutSeconds', as: 'seconds' }, { path: 'spec.limits.timeout_ms_default', as: 'milliseconds' }] }),
  field('spec.runtime.isolation_mode', 'none, wasm, sandboxed, container, kubernetes', 'cli: container; wasm: wasm, or sandboxed from high risk on; else none', '000 002', 'anything but none refuses calls: isolation is not built', 'The boundary around local code.', { reads: 'lower' }),
  field('spec.runtime.retry', 'object', NO, '000 001 002 004', 'now', 'Attempts within one call. What may be sent again at all is decided by the effect (S22).', { aliases: ['spec.retryPolicy'] }),
  field('spec.runtime.retry.max_attempts', '1 to 100', '1', '000 002 004', 'now', 'Sends at most.', { aliases: ['spec.runtime.retry.maxAttempts'] }),
  field('spec.runtime.retry.backoff', 'duration', '0s', '000 002 004', 'now', 'First pause; each later one is twice as long.', { reads: 'backoff', aliases: ms('spec.runtime.retry', 'base_ms', 'baseMs', 'backoff_ms', 'backoffMs') }),
  field('spec.runtime.retry.max_backoff', 'duration', '30s', '000 002 004', 'now', 'Longest pause.', { aliases: ['spec.runtime.retry.maxBackoff', ...ms('spec.runtime.retry', 'cap_ms', 'capMs', 'max_backoff_ms', 'maxBackoffMs')] }),
  field('spec.runtime.retry.jitter', 'none, full, equal', 'none', '000 002 004', 'now', 'How chance spreads the pauses. true is full, false is none.', { reads: 'jitter' }),

  field('spec.auth', 'object', NO, '000 001 002', AUTH_REFUSED, 'Which credential is put on each send. Always a reference, never a value.', { aliases: [{ path: 'spec.authenticationRef', when: 'object' }] }),
  field('spec.auth.profile', 'bearer, api_key_header, basic, oauth2_client_credentials', 'bearer', '000 002 003', AUTH_REFUSED, 'How it is put there.', { reads: 'profile' }),
  field('spec.auth.secretRef', 'name, name:key', NO, '000 001 002', AUTH_REFUSED, 'The secret, by name.', { aliases: [{ path: 'spec.authenticationRef', when: 'text' }, 'spec.auth.secret_ref'] }),
  field('spec.auth.headerName', 'header name', NO, '000 002', AUTH_REFUSED, 'For api_key_header.', { aliases: ['spec.auth.header_name'] }),
  field('spec.auth.tokenURL', 'URL', NO, '000 002', AUTH_REFUSED, 'For oauth2_client_credentials.', { aliases: ['spec.auth.token_url', 'spec.auth.tokenUrl'] }),
  field('spec.auth.scopes', 'list', '[]', '000 002', AUTH_REFUSED, 'For oauth2_client_credentials.'),

  field('spec.cli', 'object', NO, '002', TYPE_REFUSED, 'For type cli: a program, started without a shell.'),
  field('spec.cli.command', 'text', NO, '002', TYPE_REFUSED, 'The program.'),
  field('spec.cli.args', 'list of templates', '[]', '002', TYPE_REFUSED, 'Each gives exactly one argument.'),
  field('spec.cli.image', 'image', NO, '002', TYPE_REFUSED, 'Needed unless isolation_mode is none.'),
  field('spec.cli.image_pull_secret', 'name', NO, '002', TYPE_REFUSED, 'Secret of the registry.'),
  field('spec.cli.network', 'text', 'none', '002', TYPE_REFUSED, 'Network of the container.'),
  field('spec.cli.stdin_from_input', 'boolean', 'false', '002', TYPE_REFUSED, 'Gives the input on standard input.'),
  field('spec.cli.output', 'stdout, stderr, both', 'stdout', '002', TYPE_REFUSED, 'What the output is.'),
  field('spec.cli.working_dir', 'path', NO, '002', TYPE_REFUSED, 'Where it starts.'),
  field('spec.cli.env', 'map of text', '{}', '002', TYPE_REFUSED, 'Plain values, no secrets. Masked in diffs all the same.'),
  field('spec.cli.env_from', 'list', '[]', '002', TYPE_REFUSED, 'Values from secrets.'),
  field('spec.cli.env_from[]', 'object', NO, '002', TYPE_REFUSED, 'One value.'),
  field('spec.cli.env_from[].name', 'text', NO, '002', TYPE_REFUSED, 'Name of the variable.'),
  field('spec.cli.env_from[].secretRef', 'name', NO, '002', TYPE_REFUSED, 'The secret.'),
  field('spec.cli.env_from[].key', 'text', 'value', '002', TYPE_REFUSED, 'Key inside the secret.'),
  field('spec.cli.resources', 'object', NO, '002', TYPE_REFUSED, 'Bounds of the container.'),
  field('spec.cli.resources.memory', 'size', '128Mi', '002', TYPE_REFUSED, 'Memory.'),
  field('spec.cli.resources.cpus', 'number', '0.5', '002', TYPE_REFUSED, 'Processors.'),
  field('spec.cli.resources.pids_limit', 'number', '64', '002', TYPE_REFUSED, 'Processes.'),
  field('spec.wasm', 'object', NO, '002', TYPE_REFUSED, 'For type wasm: a module that runs inside the runtime.'),
  field('spec.wasm.module', 'path, https:// or oci://', NO, '002', TYPE_REFUSED, 'The module.'),
  field('spec.wasm.entrypoint', 'text', 'run', '002', TYPE_REFUSED, 'Exported function.'),
  field('spec.wasm.max_memory_bytes', 'bytes', '67108864', '002', TYPE_REFUSED, 'Linear memory.'),
  field('spec.wasm.fuel', 'number', '1000000', '002', TYPE_REFUSED, 'Steps.'),
  field('spec.wasm.enable_wasi', 'boolean', 'false', '002', TYPE_REFUSED, 'Standard input and output.'),
  field('spec.wasm.image_pull_secret', 'name', NO, '002', TYPE_REFUSED, 'Secret of the registry.'),
  field('spec.mcp_server_ref', 'name', NO, '002', TYPE_REFUSED, 'The server a tool of type mcp came from.'),
  field('spec.mcp_tool_name', 'text', NO, '002', TYPE_REFUSED, 'Its name there.'),
  field('spec.webhook', 'object', NO, '000 002', TYPE_REFUSED, 'For type webhook-callback.'),
  field('spec.webhook.poll', 'duration', '2s', '000 002', TYPE_REFUSED, 'How often the result is asked for.'),
  field('spec.grpc', 'object', NO, '000 002', TYPE_REFUSED, 'For type grpc.'),
  field('spec.grpc.plaintext', 'boolean', 'false', 'S51', TYPE_REFUSED, 'Without TLS; refused in profile production.'),
  field('spec.http', 'object', NO, '002', 'now', 'For type http.'),
  field('spec.http.method', 'POST, PUT, PATCH, DELETE, GET', 'POST', '002', 'POST only; any other refuses calls', 'Request method.'),
  field('spec.http.content_type', 'media type', 'application/json', '002', 'application/json only; any other refuses calls', 'Of the request body. Text for an operation without a schema goes out as text/plain.'),
  field('spec.http.max_redirects', '0 to 10', '0', 'S25', 'no redirect is ever followed', 'A redirect is a send of its own.'),

  field('spec.data_classification', 'public, internal, confidential, restricted', 'internal', '001', 'now', 'From confidential on, reads too wait for the disk (S34).', { reads: 'lower', aliases: ['spec.dataClassification'] }),
  field('spec.permission_class', 'name', NO, '001', 'now', 'A caller needs class:NAME (S41).', { aliases: ['spec.permissionClass'] }),
  field('spec.approval_triggers', 'list', '[]', '001', 'now', 'Any that fires makes the call wait for approval.', { aliases: ['spec.approvalTriggers'] }),
  field('spec.approval_triggers[]', 'object', NO, '001', 'now', 'One literal comparison on the input.'),
  field('spec.approval_triggers[].field', 'input field', NO, '001', 'now', 'JSON pointer, or names with dots.', { aliases: ['spec.approval_triggers[].path'] }),
  field('spec.approval_triggers[].op', 'eq, ne, gt, gte, lt, lte, in, not_in, exists', NO, '001', 'now', 'The comparison. One that cannot be made fires.', { aliases: ['spec.approval_triggers[].operator'] }),
  field('spec.approval_triggers[].value', 'any', NO, '001', 'now', 'What it is compared with.'),
  field('spec.approval_triggers[].reason', 'text', NO, '001', 'now', 'What the approver is told.'),
  field('spec.egress', 'object', NO, '001', 'now', 'Where data may go.', { aliases: [{ path: 'spec.egressPolicy', as: 'egress' }] }),
  field('spec.egress.allow', 'list of origins', NO, '001', 'http and external now: the endpoint is the only place that is contacted, and it must be listed', 'Origins such as https://api.example.com or https://*.example.com. An empty list allows nothing.'),
  field('spec.grants', 'object', NO, '004', 'now', 'What local code is given of this machine. Nothing else is.', { aliases: [{ path: 'spec.capabilities', when: 'object' }] }),
  field('spec.grants.fs', 'list of paths', '[]', '004', 'nothing is given: there is no local code', 'Folders.'),
  field('spec.grants.net_allowlist', 'list of origins', NO, '004', 'as spec.egress.allow', 'As spec.egress.allow; declare one of the two.'),
  field('spec.grants.env', 'list of names', '[]', '004', 'nothing is given: there is no local code', 'Environment variables.'),

  field('spec.effect', 'object', NO, '001 004 S21', 'now', 'What the tool does to the world. Undeclared, it counts as irreversible and is never sent twice (S21).'),
  field('spec.effect.class', 'read-only, reversible-write, irreversible, financial-high-impact, external-communication, code-execution, administrative', 'from operation_classes, else irreversible', '001', 'now', 'The class of seed 001.', { reads: 'effect-class', aliases: ['spec.sideEffectClass', 'spec.effect.sideEffectClass'] }),
  field('spec.effect.determinism', 'pure, idempotent, side_effectful', 'from class and idempotency', '004', 'now', 'What a repeat means.', { reads: 'lower', aliases: ['spec.determinism'] }),
  field('spec.effect.key', 'optional, required', 'optional', 'S15', 'now', 'required: a request id does not count as a key.'),
  field('spec.effect.identity', 'list of input fields, or object', NO, 'S14', 'now', 'What makes two calls the same effect, whatever their ids and wording.'),
  field('spec.effect.identity.fields', 'list of input fields', NO, 'S14', 'now', 'JSON pointers, or names with dots.'),
  field('spec.effect.identity.window', 'duration', '24h', 'S14', 'now', 'How long a repeat is noticed.'),
  field('spec.effect.identity.on_repeat', 'block, approve, replay', 'block', 'S14', 'now', 'What happens then.'),
  field('spec.effect.idempotency', 'none, natural, key-required, or object', 'none', '001 004 S22', 'now', 'natural: a repeat is harmless. key-required: an explicit key is demanded.', { aliases: ['spec.idempotency'] }),
  field('spec.effect.idempotency.keyed', 'object', NO, 'S22', 'now', 'The tool itself recognises a key, for a time.'),
  field('spec.effect.idempotency.keyed.header', 'header name', 'Idempotency-Key', 'S22', 'now', 'Where the key is put.'),
  field('spec.effect.idempotency.keyed.retention', 'duration', NO, 'S22', 'now', 'How long it is remembered.'),
  field('spec.effect.idempotency.keyed.scope', 'tool, credential', 'credential', 'S22', 'with credentials, which are not built', 'credential: remembered per credential.'),
  field('spec.effect.status_query', 'operation, or object', NO, '001 S22 S27', 'now', 'How to ask whether it happened.'),
  field('spec.effect.status_query.operation', 'name', NO, 'S27', 'now', 'An operation of this tool. For http, give method and url.'),
  field('spec.effect.status_query.method', 'GET, POST, PUT, PATCH, DELETE', 'GET; POST in other blocks', 'S27', 'now', 'For http. POST, PUT and PATCH carry {idempotency_key, commit_token, input} as JSON.'),
  field('spec.effect.status_query.url', 'URL with {key} and {token}', NO, 'S27', 'now', 'For http: where it goes. {key} is the key that the tool was sent, {token} what it gave with its prepare. Covered by the allowed origins as the endpoint is.'),
  field('spec.effect.status_query.state', 'JSON pointer', '/state', 'S27', 'now', 'Where the answer says the state.'),
  field('spec.effect.status_query.done', 'value or list', 'done', 'S27', 'now', 'States that mean it happened.'),
  field('spec.effect.status_query.not_done', 'value or list', 'not_done', 'S27', 'now', 'States that mean it did not.'),
  field('spec.effect.status_query.running', 'value or list', 'running', 'S27', 'now', 'States that mean ask again. Any other state is no answer.'),
  field('spec.effect.status_query.output', 'JSON pointer', '/output', 'S27', 'now', 'Where the answer has what the call would have returned.'),
  field('spec.effect.status_query.fencing', 'boolean', 'false', 'S22', 'now', 'After not_done, later arrivals of this key fail.'),
  field('spec.effect.status_query.quiet', 'duration', '5s', 'S22', 'now', 'How long to wait past the deadline of the attempt before not_done is believed.'),
  field('spec.effect.status_query.deadline', 'duration', '24h', 'S9', 'now', 'How long the tool is asked before it is left to a person.'),
  field('spec.effect.refused_on', 'list of HTTP statuses', '400 401 403 404 405 406 413 415 422 429', 'S23', 'now', 'Statuses that mean the tool did nothing.'),
  field('spec.effect.compensation', 'none, operation, or object', 'none', '001 S27', 'now', 'How it is undone. Demanded for reversible-write (S50).', { aliases: ['spec.compensation'] }),
  field('spec.effect.compensation.operation', 'name', 'invoke, beside tool', 'S27', 'now', 'An operation of this tool, or of the one in tool.'),
  ...['method', 'url'].map((name) =>
    field(`spec.effect.compensation.${name}`, 'as in status_query', NO, 'S27', 'now', 'As spec.effect.status_query.')),
  ...['state', 'done', 'not_done', 'running'].map((name) =>
    field(`spec.effect.compensation.${name}`, 'as in status_query', NO, 'S27', 'not read', 'Has no meaning here.')),
  field('spec.effect.compensation.tool', 'name', NO, '001', 'now', 'Another tool that is the inverse.', { aliases: under('spec.effect.compensation', 'toolId', 'inverse-tool.toolId') }),
  field('spec.effect.compensation.input_map', 'object', NO, '001', 'now', 'Its input. Texts in it that begin with /input or /output are JSON pointers into {input, output} of the call. Without it: {idempotency_key, input}.', { aliases: under('spec.effect.compensation', 'inputMap', 'inverse-tool.inputMap') }),
  field('spec.effect.compensation.requires_approval', 'boolean', 'false', '001', 'now', 'Undoing asks a person first.', { aliases: under('spec.effect.compensation', 'requiresApproval', 'inverse-tool.requiresApproval') }),
  field('spec.effect.two_phase', 'object', NO, '004 S26', 'now', 'Prepare, then commit or roll back.'),
  field('spec.effect.two_phase.prepare', 'as spec.effect.status_query', 'the call itself', '004 S27', 'now', 'First phase: {idempotency_key, input}. Its answer has a commit_token; the rest of it, or its preview, is what the caller sees.'),
  field('spec.effect.two_phase.commit', 'as spec.effect.status_query', NO, '004 S27', 'now', 'Second phase: {idempotency_key, commit_token, input}. Sent once, never blindly again.'),
  field('spec.effect.two_phase.rollback', 'as spec.effect.status_query', NO, '004 S27', 'now', 'Takes the first back; sent until it is acknowledged. Its done lists HTTP statuses beside 404 and 410 that mean that nothing is left to roll back.'),
  field('spec.effect.two_phase.deadline', 'duration', '10m', '004 S26', 'now', 'Not committed by then: rolled back.'),

  field('spec.limits', 'object', NO, '001 004', 'now', 'A request may ask for less, never for more (S2).'),
  field('spec.limits.timeout_max', 'duration', NO, '004', 'now', 'Bounds the whole execution, all attempts and pauses.', { aliases: [{ path: 'spec.limits.timeout_ms_max', as: 'milliseconds' }] }),
  field('spec.limits.memory', 'size', NO, '004', 'calls are refused: the memory of a remote tool cannot be bounded', 'Memory, such as 512Mi; a bare number is in MB.', { aliases: [{ path: 'spec.limits.memory_mb_max', as: 'megabytes' }] }),
  field('spec.limits.concurrency', 'number', NO, '001 004', 'now', 'Executions at a time.', { aliases: ['spec.limits.concurrency_max', { path: 'spec.concurrency', as: 'concurrency' }] }),
  field('spec.limits.rate', '10/s, 100/m, or object', NO, '001', 'now', 'Calls in any such time.', { aliases: [{ path: 'spec.rateLimits', as: 'rate' }] }),
  field('spec.limits.rate.max', 'number', NO, '001', 'now', 'Calls at most.'),
  field('spec.limits.rate.per', 'duration', NO, '001', 'now', 'In any such time.'),
  field('spec.limits.input_bytes', 'size', '1Mi', 'S5', 'now', 'Largest input; a bare number is in bytes.'),
  field('spec.limits.output_bytes', 'size', '4Mi', 'S5', 'now', 'Largest output; a bare number is in bytes.'),

  field('spec.errors', 'list, or name of a document', '[]', '001 004', 'now', 'The errors of the tool. A document is only described.', { aliases: ['spec.errorspec'] }),
  field('spec.errors[]', 'object', NO, '001 004', 'now', 'One error.'),
  field('spec.errors[].code', 'text', NO, '001 004', 'now', 'Stable code.'),
  field('spec.errors[].effect', 'none, done, partial, unknown', 'unknown', 'S23', 'none now; the others count as unknown', 'none: the tool did nothing, for certain.'),
  field('spec.errors[].retryable', 'boolean', NO, '001', 'descriptive', 'What the owner says about trying again.'),
  field('spec.errors[].description', 'text', NO, '001 004', 'descriptive', 'What it means.'),
  field('spec.errors[].fix', 'text', NO, '004', 'descriptive', 'What to do.'),
  field('spec.audit', 'default, strict', 'strict from confidential on, else default', 'S34', 'now', 'strict: reads too wait for the disk.'),
  field('spec.audit_fields', 'list of input fields', '[]', '001', 'now', 'Copied into evidence (S40).', { aliases: ['spec.auditFields'] }),
  field('spec.observability', 'object', NO, '001', 'descriptive', 'Dashboards, alerts, runbooks.'),
  field('spec.deprecation', 'object', NO, '001 004', 'now', 'The life of this version. Times are UTC.'),
  field('spec.deprecation.introduced', 'UTC time', NO, '001', 'descriptive', 'Since when.'),
  field('spec.deprecation.deprecated', 'UTC time', NO, '001', 'now', 'From then on answers carry a warning.'),
  field('spec.deprecation.removal', 'UTC time', NO, '001', 'now', 'From then on calls are refused.'),
  field('spec.deprecation.replacement', 'name', NO, '001', 'now', 'Named in warnings and refusals.'),
  field('spec.deprecation.compatibility', 'text', NO, '001', 'descriptive', 'What changes.'),
  field('spec.deprecation.affected_policies', 'list', '[]', '001', 'descriptive', 'Policies that name it.', { aliases: ['spec.deprecation.affectedPolicies'] }),
  field('spec.slo', 'object', NO, '004', 'not measured', 'What the owner aims at.'),
  field('spec.slo.success_rate_min', '0 to 1', NO, '004', 'not measured', 'Share of successes.'),
  field('spec.slo.p95_latency_ms_max', 'milliseconds', NO, '004', 'not measured', '95th percentile.'),
  field('spec.health', 'object', NO, '004', NOT_POLLED, 'How to ask whether it is up.'),
  field('spec.health.readiness', 'cmd:... or URL', NO, '004', NOT_POLLED, 'Ready for calls.'),
  field('spec.health.liveness', 'cmd:... or URL', NO, '004', NOT_POLLED, 'Alive.'),

  field('status', 'object', NO, '002', 'descriptive', 'Read back; left alone by apply.'),
  field('status.phase', 'text', NO, '002', 'descriptive', 'Read back; left alone by apply.'),
  field('status.lastError', 'text', NO, '002', 'descriptive', 'Read back; left alone by apply.'),
  field('status.observedGeneration', 'number', NO, '002', 'descriptive', 'Read back; left alone by apply.'),
  field('status.digest', 'sha256:...', NO, 'S49', 'descriptive', 'Read back; left alone by apply.'),
])

function under(prefix: string, ...names: readonly string[]): FieldAlias[] {
  return names.map((name) => ({ path: `${prefix}.${name}` }))
}

function ms(prefix: string, ...names: readonly string[]): FieldAlias[] {
  return names.map((name) => ({ path: `${prefix}.${name}`, as: 'milliseconds' as const }))
}

/** What an operation declares in the shape of the tool's own block: aliases work there in the same way. */
export const SAME_SHAPE: readonly { readonly from: string; readonly to: string }[] = Object.freeze([
  { from: 'spec.effect', to: 'spec.operations.*.effect' },
  { from: 'spec.runtime.retry', to: 'spec.operations.*.retry' },
  { from: 'spec.limits', to: 'spec.operations.*.limits' },
  { from: 'spec.approval_triggers', to: 'spec.operations.*.approval_triggers' },
])
