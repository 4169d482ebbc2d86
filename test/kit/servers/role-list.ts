import { expect } from 'vitest';
import type { McpClient } from './mcp-client.ts';

/** A role as `list_roles` returns it. */
export interface ListedRole {
  id: string;
  name: string;
  /** Undefined in a list that is too long for any. */
  description?: string;
}

/** What `list_roles` answers. */
export async function listedRoles(server: McpClient): Promise<ListedRole[]> {
  const { isError, data, text } = await server.call('list_roles');
  expect(isError, text).toBe(false);
  expect(JSON.parse(text)).toEqual(data);
  expect(Object.keys(data)).toEqual(['roles']);
  // The wire: what is asserted of it is what the test is about.
  return data.roles as ListedRole[];
}
