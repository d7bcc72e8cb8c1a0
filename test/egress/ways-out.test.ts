// Nothing in src makes a connection but the guard, and those few that are named here with their reason.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { importsOf } from '../../scripts/imports.ts'
import { type RepoFile, repoFiles } from '../../scripts/repo-files.ts'
import { tokensOf } from '../../scripts/tokens.ts'

/** Whatever can open a connection or look up a name. Types of them are erased before anything runs. */
const NETWORK =
  /^(?:node:)?(?:net|http|https|http2|tls|dns|dns\/promises|dgram|inspector)$|^(?:undici|ws|pg|nodemailer|@modelcontextprotocol\/.+|@grpc\/.+)$/

/** They connect by themselves. */
const UNGUARDED: ReadonlySet<string> = new Set(['fetch', 'WebSocket', 'EventSource', 'createRemoteJWKSet'])

/** By file, relative to src: why it may import one of these, or what it takes of it. */
const GRANTED: Readonly<Record<string, string>> = {
  'util/address-class.ts': 'judges addresses; makes no connection',
  'util/clock.ts': 'the network of a world that has none',
  'config/resolve-config.ts': 'judges the address to listen on',
  'client/client.ts': 'the command line, to the server that its user names',
  'client/exchange.ts': 'the command line, to the server that its user names',
  'conformance/backend/loopback.ts': 'listens for the suite',
  'notify/mail.ts': 'speaks SMTP over a connection that egress.open made',
}

/** Folders whose every file may. */
const GRANTED_FOLDERS: Readonly<Record<string, string>> = {
  'egress/': 'the guard itself',
  'store/postgres/': 'to the database that the operator names',
  'server/': 'listens; connects to nobody',
}

/** Protocols with clients of their own, on connections that the guard has dialled. */
const DIALLED =
  /^(?:transport|conformance\/backend)\/(?:grpc|mcp)[a-z-]*(?:\/.+)?\.ts$|^transport\/(?:grpc|mcp)\//

const inSrc = ({ path }: RepoFile): boolean => path.startsWith('src/') && path.endsWith('.ts')

function waysOut(files: readonly RepoFile[]): readonly string[] {
  return files.flatMap(({ path, text }) => {
    const file = path.slice('src/'.length)
    const folder = Object.keys(GRANTED_FOLDERS).some((name) => file.startsWith(name))
    const made = tokensOf(text).flatMap((token, at, all) =>
      token.kind === 'word' &&
      UNGUARDED.has(token.text) &&
      all[at + 1]?.text === '(' &&
      !['.', 'function', 'async'].includes(all[at - 1]?.text ?? '')
        ? [`${path}:${token.line}: ${token.text}() knows no guard; use world.network`]
        : [],
    )
    if (folder || Object.hasOwn(GRANTED, file) || DIALLED.test(file)) return made
    const imported = importsOf(text)
      .filter(({ specifier, kind }) => kind !== 'type' && NETWORK.test(specifier))
      .map(({ specifier, line }) => `${path}:${line}: imports ${specifier}; connect through src/egress`)
    return [...imported, ...made]
  })
}

describe('the ways out', () => {
  const files = repoFiles().filter(inSrc)

  it('all lead through the guard', () => {
    assert.ok(files.length > 100, 'the sources are read')
    assert.deepEqual(waysOut(files), [])
  })

  it('have no grant for a file that is not there', () => {
    const paths = new Set(files.map(({ path }) => path.slice('src/'.length)))
    assert.deepEqual(
      Object.keys(GRANTED).filter((file) => !paths.has(file)),
      [],
    )
  })

  it('are found: an import of undici, a lazy one of node:net, a fetch of the platform', () => {
    const bad = (text: string) => waysOut([{ path: 'src/pipeline/x.ts', text }])
    assert.equal(bad("import { request } from 'undici'\n").length, 1)
    assert.equal(bad("const { connect } = await import('node:net')\n").length, 1)
    assert.equal(bad("const x = await fetch('https://a.example')\n").length, 1)
    assert.equal(bad("import type { Dispatcher } from 'undici'\n").length, 0)
    assert.equal(bad('const x = await transport.fetch(1)\n').length, 0)
  })
})
