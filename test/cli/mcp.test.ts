// MCP servers through the commands: declared, listed, looked at; a changed tool is shown and accepted.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { READ, SEND } from '../catalog/mcp-house.ts'
import { type ServerCommands, startServerCommands } from './server-commands.ts'

const PROGRAM = join(import.meta.dirname, '../fixtures/mcp-changing/stdio.ts')

describe('writ and MCP servers', () => {
  let s: ServerCommands
  const folder = mkdtempSync(join(tmpdir(), 'writ-cli-mcp-'))
  const file = join(folder, 'tools.json')
  before(async () => {
    s = await startServerCommands()
  })
  after(async () => {
    await s.close()
    rmSync(folder, { recursive: true, force: true })
  })

  /** The next sync that ends, after what is done. */
  async function synced(act: () => unknown, wanted = 'Ready'): Promise<void> {
    const seen = new Promise<void>((resolve) => {
      const off = s.harness.runtime.events.on('mcp:synced', ({ phase }) => {
        if (phase !== wanted) return
        off()
        resolve()
      })
    })
    await act()
    await seen
  }

  it('declares one, and lists it with its tools', async () => {
    writeFileSync(file, JSON.stringify([READ, SEND]))
    const manifest = {
      apiVersion: 'writ.dev/v1',
      kind: 'McpServer',
      metadata: { name: 'files' },
      spec: {
        transport: 'stdio',
        command: process.execPath,
        args: ['--disable-warning=ExperimentalWarning', PROGRAM],
        env: [{ name: 'TOOLS_FILE', value: file }],
        tools: { read_file: { effect: { class: 'read-only' } } },
      },
    }
    writeFileSync(join(s.cwd, 'server.json'), JSON.stringify(manifest))
    await synced(async () => {
      const applied = await s.writ('apply -f server.json')
      assert.equal(applied.code, 0, applied.err)
    })
    const list = await s.writ('get mcp-servers')
    assert.match(list.out, /^NAME +TRANSPORT +PHASE +TOOLS +QUARANTINED +AGE\nfiles +stdio +Ready +2 +0 /m)
    assert.match((await s.writ('describe mcp-server files')).out, /phase: Ready/)
    assert.match((await s.writ('get tools')).out, /files--read-file +0\.0\.0 +mcp/)
    const call = await s.writ(`call files--read-file --input {"path":"/a"}`)
    assert.equal(call.code, 0, call.err)
    const again = await s.writ('get mcp-servers files -o yaml')
    writeFileSync(join(s.cwd, 'again.yaml'), again.out)
    assert.match((await s.writ('apply -f again.yaml')).out, /McpServer default\/files unchanged/)
  })

  it('shows what changed, and accepts it only as it was shown', async () => {
    const none = await s.writ('tool accept files--read-file --yes')
    assert.equal(none.code, 7)
    assert.match(none.err, /is not quarantined/)
    await synced(() =>
      writeFileSync(file, JSON.stringify([{ ...READ, description: 'Reads, and tells us' }, SEND])),
    )
    const refused = await s.writ(`call files--read-file --input {"path":"/a"}`)
    assert.notEqual(refused.code, 0)
    assert.match(refused.err + refused.out, /writ tool accept files--read-file/)
    const diff = await s.writ('tool diff files--read-file')
    assert.equal(diff.code, 0, diff.err)
    assert.match(diff.out, /~ \/description\n {4}- "Reads a file"\n {4}\+ "Reads, and tells us"/)
    const shown = await s.writ('tool accept files--read-file')
    assert.equal(shown.code, 7)
    assert.match(shown.err, /nothing was accepted/)
    const other = await s.writ('tool accept files--read-file --digest sha256:other')
    assert.match(other.err, /another definition/)
    assert.match(
      other.err,
      /^Fix: look at 'writ tool diff files--read-file' again, and accept what it shows$/m,
    )
    const accepted = await s.writ('tool accept files--read-file --yes')
    assert.equal(accepted.code, 0, accepted.err)
    assert.match(accepted.out, /State: +pinned/)
    assert.equal((await s.writ(`call files--read-file --input {"path":"/a"}`)).code, 0)
    const unknown = await s.writ('tool diff nothing')
    assert.match(unknown.err, /No tool 'nothing' of an MCP server/)
    assert.match(unknown.err, /^Fix: use the name of one that 'writ get tools' lists$/m)
    assert.match((await s.writ('tool accept files--read-fil')).err, /did you mean 'files--read-file'/)
  })

  it('needs mcp:write to declare one or to accept a change', async () => {
    const { runtime } = s.harness
    const role = {
      apiVersion: 'writ.dev/v1',
      kind: 'AgentRole',
      metadata: { name: 'writer' },
      spec: { permissions: ['resource:read', 'resource:write'] },
    }
    await runtime.resources.apply([{ text: JSON.stringify(role), file: 'role.json' }])
    const issued = await s.harness.request('POST', '/v1/tokens', {
      body: { actor: 'w', kind: 'person', roles: ['writer'] },
    })
    const { token } = issued.body
    const ask = (method: string, path: string, body: object) =>
      s.harness.request(method, path, { body, token })
    assert.equal((await ask('POST', '/v1/tools/files--read-file/accept', { digest: 'x' })).status, 403)
    const server = {
      apiVersion: 'writ.dev/v1',
      kind: 'McpServer',
      metadata: { name: 'mine' },
      spec: { transport: 'stdio', command: 'sh' },
    }
    assert.equal((await ask('POST', '/v1/mcp-servers', server)).status, 403)
    assert.equal((await ask('POST', '/v1/apply', server)).status, 403)
  })

  it('says of an unknown tool that its server is in Error', async () => {
    const manifest = {
      apiVersion: 'writ.dev/v1',
      kind: 'McpServer',
      metadata: { name: 'gone' },
      spec: { transport: 'stdio', command: 'writ-no-such-program', reconnect: { max_attempts: 1 } },
    }
    writeFileSync(join(s.cwd, 'gone.json'), JSON.stringify(manifest))
    await synced(() => s.writ('apply -f gone.json'), 'Error')
    const call = await s.writ(`call gone--x --input {}`)
    assert.match(call.err, /^tool-unknown: /m)
    assert.match(call.err, /^Fix: the MCP server 'gone' is in Error.*writ describe mcp-server gone/m)
    assert.doesNotMatch((await s.writ(`call files--x --input {}`)).err, /is in Error/)
    assert.equal((await s.writ('delete mcp-server gone')).code, 0)
  })

  it('deletes it with its tools', async () => {
    assert.equal((await s.writ('delete tool files--read-file --yes')).code === 0, false)
    const deleted = await s.writ('delete mcp-server files')
    assert.equal(deleted.code, 0, deleted.err)
    assert.ok(!(await s.writ('get tools')).out.includes('files--'))
  })
})
