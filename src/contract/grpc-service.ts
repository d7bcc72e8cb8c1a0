// The service of tools that are spoken to over gRPC: its name on the wire, and how its messages are written.

export const GRPC_PATH = '/orloj.tool.v1.ToolService/Execute'

/** Messages are JSON; whoever registers a codec called `json` reads and writes them. */
export const GRPC_TYPE = 'application/grpc+json'

/** Peers that know of one codec only leave its name out. */
export function isGrpcType(contentType: string | undefined): boolean {
  return /^application\/grpc(?:\+json)?\s*(?:;|$)/i.test(contentType ?? '')
}
