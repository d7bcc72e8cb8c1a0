// The forms a secret may come back in, written down here once more: a test that used the product's own list would prove
// nothing of it.

/** By themselves. */
function wholeForms(secret: string): Record<string, string> {
  const bytes = Buffer.from(secret)
  const hexOf = (one: number) => one.toString(16).padStart(2, '0')
  const json = JSON.stringify(secret).slice(1, -1)
  return {
    raw: secret,
    'json-escaped': json,
    'json-escaped twice': JSON.stringify(json).slice(1, -1),
    'json-escaped with slashes': json.replaceAll('/', '\\/'),
    'as \\u escapes': [...secret].map((one) => `\\u00${hexOf(one.charCodeAt(0))}`).join(''),
    'url-encoded': encodeURIComponent(secret),
    'url-encoded in lower case': encodeURIComponent(secret).replace(/%../g, (one) => one.toLowerCase()),
    'as a form field': new URLSearchParams({ a: secret }).toString().slice(2),
    'every byte url-encoded': [...bytes].map((one) => `%${hexOf(one)}`).join(''),
    hex: bytes.toString('hex'),
    'hex in upper case': bytes.toString('hex').toUpperCase(),
  }
}

/** What is searched for. */
export function secretForms(secret: string): Record<string, string> {
  const bytes = Buffer.from(secret)
  const forms = wholeForms(secret)
  // Inside of a longer text: only what does not depend on its neighbours can be looked for.
  for (const before of [0, 1, 2]) {
    for (const kind of ['base64', 'base64url'] as const) {
      const text = Buffer.concat([Buffer.alloc(before), bytes]).toString(kind)
      const from = before === 0 ? 0 : before + 1
      forms[`${kind} after ${before}`] = text.slice(from, from + Math.floor((bytes.length - 2) / 3) * 4)
    }
  }
  return forms
}

/** What a peer sends back of what it was shown: each form by itself, and base64 of it within something. */
export function echoOf(secrets: readonly string[]): string[] {
  return secrets.flatMap((secret) => [
    ...Object.values(wholeForms(secret)),
    ...['', 'u', 'us'].flatMap((before) => [
      Buffer.from(`${before}${secret}x`).toString('base64'),
      Buffer.from(`${before}${secret}`).toString('base64url'),
    ]),
  ])
}
