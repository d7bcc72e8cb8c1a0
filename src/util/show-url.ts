// A url as it may be shown: without password, query and fragment, where secrets are.
export function showUrl(url: string): string {
  if (!URL.canParse(url)) return 'a url that cannot be read'
  const { protocol, username, host, pathname } = new URL(url)
  return `${protocol}//${username === '' ? '' : `${username}@`}${host}${pathname}`
}
