/** Whether ids may begin anew at this event: a recovery moves them past the highest that was ever shown, and says so. */
export function explainsGap(event: { kind: string; detail: object }, _before: bigint): boolean {
  return event.kind === 'recovery';
}
