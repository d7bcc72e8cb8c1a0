// A real Vault for a recording: initialised, unsealed, with KV version 2 at `secret` and AppRole logins.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, startRealProcess, textAt, untilTrue } from './real-process.ts'

interface Reply {
  readonly status: number
  readonly body: unknown
}

export interface RealVault {
  readonly url: string
  readonly version: string
  readonly root: string
  /** As its administrator, unless with another token. Fails where the server does. */
  ask(method: string, path: string, body?: object): Promise<unknown>
  /** Whatever the answer is. */
  try(method: string, path: string, token: string, body?: object): Promise<Reply>
  /** A new token that may read everything below the mounts `secret` and `old`. */
  reader(more?: object): Promise<string>
  /** A role with a secret id of its own, whose logins may do the same. */
  role(settings?: object): Promise<{ role_id: string; secret_id: string }>
  seal(): Promise<void>
  unseal(): Promise<void>
  stop(): Promise<void>
}

export async function startRealVault(program: string, folder: string): Promise<RealVault> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const config = {
    storage: { inmem: {} },
    listener: { tcp: { address: `127.0.0.1:${port}`, tls_disable: true } },
    api_addr: url,
    disable_mlock: true,
  }
  const file = join(folder, 'vault.json')
  writeFileSync(file, JSON.stringify(config))
  const { stop } = await startRealProcess(
    program,
    ['server', `-config=${file}`],
    async () => (await fetch(`${url}/v1/sys/seal-status`)).ok,
  )
  let root = ''
  let roles = 0

  async function send(method: string, path: string, token: string, body?: object): Promise<Reply> {
    const reply = await fetch(`${url}/v1/${path}`, {
      method,
      headers: { 'x-vault-token': token },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await reply.text()
    return { status: reply.status, body: text === '' ? {} : JSON.parse(text) }
  }
  async function ask(method: string, path: string, body?: object): Promise<unknown> {
    const { status, body: said } = await send(method, path, root, body)
    if (status >= 300) throw new Error(`vault: ${method} ${path}: ${status} ${JSON.stringify(said)}`)
    return said
  }
  const isReady = async () => (await send('GET', 'secret/config', root)).status === 200

  const made = await ask('PUT', 'sys/init', { secret_shares: 1, secret_threshold: 1 })
  root = textAt(made, 'root_token')
  const unseal = async () => {
    await ask('PUT', 'sys/unseal', { key: textAt(made, 'keys', 0) })
    await untilTrue('vault is unsealed', async () => (await send('GET', 'sys/health', root)).status === 200)
  }
  await unseal()
  await ask('POST', 'sys/mounts/secret', { type: 'kv', options: { version: '2' } })
  await ask('POST', 'sys/mounts/old', { type: 'kv', options: { version: '1' } })
  await ask('POST', 'sys/auth/approle', { type: 'approle' })
  await ask('PUT', 'sys/policies/acl/reader', {
    policy: 'path "secret/data/*" { capabilities = ["read"] }\npath "old/*" { capabilities = ["read"] }',
  })
  await untilTrue('the mount of version 2 is set up', isReady)
  const version = textAt(await ask('GET', 'sys/seal-status'), 'version')

  return {
    url,
    version,
    root,
    ask,
    try: send,
    stop,
    unseal: async () => {
      await unseal()
      await untilTrue('the mount of version 2 is set up', isReady)
    },
    seal: async () => void (await ask('PUT', 'sys/seal')),
    async reader(more = {}) {
      const created = await ask('POST', 'auth/token/create', { policies: ['reader'], ...more })
      return textAt(created, 'auth', 'client_token')
    },
    async role(settings = {}) {
      const at = `auth/approle/role/role-${++roles}`
      await ask('POST', at, { token_policies: ['reader'], token_ttl: '10m', ...settings })
      const id = await ask('GET', `${at}/role-id`)
      const secret = await ask('POST', `${at}/secret-id`)
      return { role_id: textAt(id, 'data', 'role_id'), secret_id: textAt(secret, 'data', 'secret_id') }
    },
  }
}
