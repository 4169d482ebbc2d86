/** Clients with a hook for `troupe notify` (docs/notifications.md). */
const byHook = /claude-code/i;

/** @param clientName its `clientInfo.name` */
export function isWokenByHook(clientName: string): boolean {
  return byHook.test(clientName);
}
