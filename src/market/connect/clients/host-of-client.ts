/** The host of the metadata document that a client id is the address of; null: it registered itself. */
export function hostOfClient(clientId: string): string | null {
  return /^https:\/\//i.test(clientId) ? (URL.parse(clientId)?.hostname ?? null) : null;
}
