// `npm run record -- --programs FOLDER`: plays every case with the real servers, and writes down anew what was exchanged.
import assert from 'node:assert/strict'
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { runTool } from '../../../scripts/run-tool.ts'
import { openProvider } from '../provider-harness.ts'
import { buildServers, PROGRAMS } from './build-servers.ts'
import { startRecorder } from './exchange-server.ts'
import { kubernetesCases } from './kubernetes-cases.ts'
import { type RealKubernetes, startRealKubernetes, writeKubeconfig } from './real-kubernetes.ts'
import { startRealVault } from './real-vault.ts'
import type { RecordedCase, Recording } from './recording.ts'
import { type Cases, recordCase } from './stage.ts'
import { vaultCases } from './vault-cases.ts'

const USAGE = `Usage: npm run record -- --programs FOLDER [options]
  --programs FOLDER   where ${PROGRAMS.join(', ')} are
  --build             builds there what is missing, from the published modules, with Go 1.26 or newer
  --only NAME         vault or kubernetes`

const RECORDINGS: Readonly<Record<string, (programs: string, folder: string) => Promise<void>>> = {
  vault: recordVault,
  kubernetes: recordKubernetes,
}

try {
  const { values } = parseArgs({
    options: {
      programs: { type: 'string' },
      build: { type: 'boolean', default: false },
      only: { type: 'string' },
    },
  })
  if (values.programs === undefined) throw new Error(`no folder with servers is named.\n${USAGE}`)
  const names = values.only === undefined ? Object.keys(RECORDINGS) : [values.only]
  const programs = resolve(values.programs)
  if (values.build) buildServers(programs)
  for (const name of names) await recordOne(name, programs)
} catch (error) {
  const failed = error instanceof assert.AssertionError
  console.error(error instanceof Error && !failed ? error.message : error)
  process.exitCode = 1
}

async function recordOne(name: string, programs: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'writ-record-'))
  try {
    const make = RECORDINGS[name]
    if (make === undefined) throw new Error(`there is nothing called ${name} to record.\n${USAGE}`)
    await make(programs, folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The path of a program that is there. */
function programIn(programs: string, name: (typeof PROGRAMS)[number]): string {
  const program = join(programs, name)
  try {
    accessSync(program, constants.X_OK)
    return program
  } catch {
    throw new Error(
      `there is no server to record: ${program} cannot be run. Fix: put it there, or add --build`,
    )
  }
}

async function recordVault(programs: string, folder: string): Promise<void> {
  const server = await startRealVault(programIn(programs, 'vault'), folder)
  try {
    await record('vault', `HashiCorp Vault ${server.version}`, vaultCases, server)
  } finally {
    await server.stop()
  }
}

async function recordKubernetes(programs: string, folder: string): Promise<void> {
  const etcd = programIn(programs, 'etcd')
  const server = await startRealKubernetes({ apiserver: programIn(programs, 'kube-apiserver'), etcd }, folder)
  try {
    await record('kubernetes', `Kubernetes ${server.version}`, kubernetesCases, server, server.ca)
    await readDirectly(server, folder)
  } finally {
    await server.stop()
  }
}

async function record<S extends { readonly url: string }>(
  name: string,
  version: string,
  cases: Cases<S>,
  server: S,
  ca?: string,
): Promise<void> {
  const recorder = await startRecorder(server.url, ca)
  const recorded: Record<string, RecordedCase> = {}
  try {
    for (const [holds, play] of Object.entries(cases)) {
      console.log(`${name}: ${holds}`)
      recorded[holds] = await recordCase(play, { server, address: recorder.url, taken: recorder.taken })
    }
  } finally {
    recorder.close()
  }
  const recording: Recording = { server: version, cases: recorded }
  const file = fileURLToPath(new URL(`${name}.json`, import.meta.url))
  writeFileSync(file, JSON.stringify(recording))
  await runTool(['node_modules/@biomejs/biome/bin/biome', 'format', '--write', file])
}

/** What cannot be recorded: its own TLS, and a user who is known by a certificate. */
async function readDirectly({ url, ca, client }: RealKubernetes, folder: string): Promise<void> {
  const data = (text: string) => Buffer.from(text).toString('base64')
  const trust = { 'certificate-authority-data': data(ca) }
  const user = { 'client-certificate-data': data(client.cert), 'client-key-data': data(client.key) }
  writeKubeconfig(join(folder, 'config'), url, user, trust)
  const ends: (() => Promise<void>)[] = []
  const provider = await openProvider(
    { after: (work) => void ends.push(work) },
    { type: 'kubernetes', kubeconfig: 'config' },
    { folder },
  )
  try {
    const found = await provider.read({ namespace: 'blue', name: 'api' })
    assert.equal(found?.values.value, 'canary-value-0002')
    console.log('kubernetes: read over its own TLS, with a client certificate')
  } finally {
    for (const end of ends) await end()
  }
}
