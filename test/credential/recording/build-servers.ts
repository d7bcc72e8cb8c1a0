// Builds the real servers from their published Go modules. It takes half an hour of a processor, and 10 GB of disk.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const VAULT = 'v1.21.4'
const KUBERNETES = '36.3'
const ETCD = 'v3.6.8'

/** The parts of Vault that lie beside it in its repository, as they are published. */
const VAULT_PARTS: Readonly<Record<string, string>> = {
  'github.com/hashicorp/vault/api': 'v1.22.0',
  'github.com/hashicorp/vault/api/auth/approle': 'v0.10.0',
  'github.com/hashicorp/vault/api/auth/kubernetes': 'v0.10.0',
  'github.com/hashicorp/vault/api/auth/userpass': 'v0.10.0',
  'github.com/hashicorp/vault/sdk': 'v0.21.0',
}

/**
 * No published part has all that this release has. These lines, of the transit engine and of a clean-up of identities,
 * are fitted to the part that there is; nothing that we ask for goes through them.
 */
const VAULT_FITTINGS: readonly (readonly [file: string, from: string, to: string])[] = [
  [
    'vault/identity_store.go',
    'ActivationFunc: iStore.activateDeduplication,',
    'ActivationFunc: func(ctx context.Context, req *logical.Request, _ string) error { return iStore.activateDeduplication(ctx, req) },',
  ],
  ['vault/logical_system_activation_flags.go', 'ActivationFunc(ctx, nil)', 'ActivationFunc(ctx, nil, "")'],
  [
    'builtin/logical/transit/path_restore.go',
    'restoredKeyName, err := b.lm.RestorePolicy',
    'restoredKeyName, err := keyName, b.lm.RestorePolicy',
  ],
]

const ETCD_MAIN = `package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
`

export const PROGRAMS = ['vault', 'etcd', 'kube-apiserver'] as const

/** What is there already is not built again. */
export function buildServers(folder: string): void {
  for (const program of PROGRAMS) {
    if (existsSync(join(folder, program))) continue
    console.log(`building ${program}`)
    const source = join(folder, 'source', program)
    rmSync(source, { recursive: true, force: true })
    mkdirSync(source, { recursive: true })
    BUILDS[program](source, join(folder, program))
    rmSync(source, { recursive: true, force: true })
  }
}

const BUILDS: Readonly<Record<(typeof PROGRAMS)[number], (source: string, out: string) => void>> = {
  vault(source, out) {
    copyModule(`github.com/hashicorp/vault@${VAULT}`, source)
    replaceLocal(source, (module) => VAULT_PARTS[module])
    for (const [file, from, to] of VAULT_FITTINGS) fit(join(source, file), from, to)
    // Without the plugins for clouds and databases, none of which is asked for here.
    go(source, 'build', '-mod=mod', '-tags', 'minimal', '-ldflags', '-s -w', '-o', out, '.')
  },
  etcd(source, out) {
    writeFileSync(join(source, 'go.mod'), 'module etcd\n')
    writeFileSync(join(source, 'main.go'), ETCD_MAIN)
    go(source, 'get', `go.etcd.io/etcd/server/v3@${ETCD}`)
    go(source, 'mod', 'tidy')
    go(source, 'build', '-ldflags', '-s -w', '-o', out, '.')
  },
  'kube-apiserver'(source, out) {
    copyModule(`k8s.io/kubernetes@v1.${KUBERNETES}`, source)
    for (const other of ['go.work', 'go.work.sum', 'vendor'])
      rmSync(join(source, other), { recursive: true, force: true })
    replaceLocal(source, () => `v0.${KUBERNETES}`)
    // What its own release sets: without it, it would say that it is v0.0.0.
    const version = [
      ['gitVersion', `v1.${KUBERNETES}`],
      ['gitMajor', '1'],
      ['gitMinor', KUBERNETES.split('.')[0]],
    ].map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`)
    const flags = ['-s', '-w', ...version].join(' ')
    go(source, 'build', '-mod=mod', '-ldflags', flags, '-o', out, './cmd/kube-apiserver')
  },
}

function copyModule(module: string, source: string): void {
  const { Dir } = JSON.parse(go(source, 'mod', 'download', '-json', module))
  cpSync(Dir, source, { recursive: true })
  // What Go keeps of modules cannot be written to.
  execFileSync('chmod', ['-R', 'u+w', source])
}

/** A module in a folder of the same repository is not in what is published of it: that of its own is taken. */
function replaceLocal(source: string, versionOf: (module: string) => string | undefined): void {
  const { Replace } = JSON.parse(go(source, 'mod', 'edit', '-json'))
  for (const { Old, New } of Replace) {
    if (!New.Path.startsWith('./')) continue
    const version = versionOf(Old.Path)
    if (version === undefined)
      throw new Error(`no version is named for ${Old.Path}. Fix: add it to the table here`)
    go(source, 'mod', 'edit', `-replace=${Old.Path}=${Old.Path}@${version}`)
  }
}

function fit(file: string, from: string, to: string): void {
  const before = readFileSync(file, 'utf8')
  if (!before.includes(from)) throw new Error(`${file} has no '${from}'. Fix: fit it anew to this version`)
  writeFileSync(
    file,
    before.replace(from, () => to),
  )
}

function go(cwd: string, ...args: readonly string[]): string {
  return execFileSync('go', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
}
