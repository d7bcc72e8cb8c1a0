// A credential as a transport gets it, with nothing to take out of what comes back.
import type { Presented } from '../../src/credential/credential.ts'

const NO_REDACTOR: Presented['redactor'] = {
  empty: true,
  text: (text) => text,
  json: (value) => value,
  stream: () => ({ push: (part) => part, end: () => '' }),
}

export function presented(...headers: Presented['headers'][number][]): Presented {
  return { headers, env: {}, version: '1', redactor: NO_REDACTOR, rejected: () => false }
}
