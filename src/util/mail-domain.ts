// Of which domain a mail address is. Only plain addresses have one: what mail programs read in different ways has none.

const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const DOMAIN = `${LABEL}(?:\\.${LABEL})+`
const WHOLE = new RegExp(`^${DOMAIN}$`)
// No quotes, comments, lists, routes (%, !) or encoded words (=?), by which an address can be of two domains.
const ADDRESS = new RegExp(`^[a-z0-9_.+'-]{1,64}@(${DOMAIN})$`, 'i')
const LONGEST = 320

/** As it is compared: in lower case, international names in their ASCII form. */
export function isMailDomain(text: string): boolean {
  return text.length <= LONGEST && WHOLE.test(text)
}

export function mailDomain(address: string): string | undefined {
  if (address.length > LONGEST) return undefined
  return ADDRESS.exec(address)?.[1]?.toLowerCase()
}
