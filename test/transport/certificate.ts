// Certificates for servers of tests, made with the openssl of the machine.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Part of the machine, not of this package. */
const OPENSSL = 'openssl'

export interface Pair {
  readonly key: string
  readonly cert: string
}

export interface Made {
  /** Trust it to trust those below. */
  readonly authority: string
  /** By name: `good`, `expired`, `other-host`, all signed by the authority; `self-signed` by itself. */
  readonly pairs: Readonly<Record<'good' | 'expired' | 'other-host' | 'self-signed', Pair>>
}

export const NO_OPENSSL = 'no openssl to make a certificate with; install it to run this'

/** undefined where the machine has no openssl. */
export function makeCertificates(): Made | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'writ-certificates-'))
  const run = (...args: readonly string[]) =>
    execFileSync(OPENSSL, args, { cwd: folder, stdio: 'pipe', timeout: 20_000 })
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const read = (name: string) => readFileSync(join(folder, name), 'utf8')
  const signed = (name: string, host: string, ...dates: readonly string[]): Pair => {
    run('req', '-new', ...key, '-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.csr`)
    writeFileSync(join(folder, `${name}.ext`), `subjectAltName=${host}\n`)
    run(
      ...['x509', '-req', '-in', `${name}.csr`, '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial'],
      ...['-extfile', `${name}.ext`, '-out', `${name}.pem`, ...dates],
    )
    return { key: read(`${name}.key`), cert: read(`${name}.pem`) }
  }
  try {
    const authority = ['-subj', '/CN=writ-test-authority', '-days', '2']
    run('req', '-x509', ...key, ...authority, '-keyout', 'ca.key', '-out', 'ca.pem')
    const own = ['-subj', '/CN=alone', '-days', '2', '-addext', 'subjectAltName=IP:127.0.0.1']
    run('req', '-x509', ...key, ...own, '-keyout', 'own.key', '-out', 'own.pem')
    return {
      authority: read('ca.pem'),
      pairs: {
        good: signed('good', 'IP:127.0.0.1,DNS:localhost', '-days', '2'),
        // Every openssl takes a number of days that is negative; dates in the past only newer ones do.
        expired: signed('expired', 'IP:127.0.0.1', '-days', '-1'),
        'other-host': signed('other-host', 'DNS:other.example.com', '-days', '2'),
        'self-signed': { key: read('own.key'), cert: read('own.pem') },
      },
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return undefined
  } finally {
    rmSync(folder, { recursive: true })
  }
}
