// Words of a server that its tools changed.
import type { Client, McpSubscription } from '@modelcontextprotocol/client'

/** Newer revisions have to be asked for them. */
export function createChanges(client: Client) {
  const listeners = new Set<() => void>()
  let subscription: Promise<McpSubscription | undefined> | undefined
  const offered = client.getServerCapabilities()?.tools?.listChanged === true
  client.setNotificationHandler('notifications/tools/list_changed', () => {
    for (const listener of listeners) listener()
  })
  return {
    listen(listener: () => void): () => void {
      listeners.add(listener)
      if (offered && client.getProtocolEra() === 'modern')
        subscription ??= client.listen({ toolsListChanged: true }).catch(() => undefined)
      return () => void listeners.delete(listener)
    },
    close(): void {
      listeners.clear()
      void subscription?.then((open) => open?.close().catch(() => {}))
    },
  }
}
