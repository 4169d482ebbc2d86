import { afterEach, beforeEach, expect, test } from 'vitest';
import { type McpClient, startServer } from '../../kit/servers/mcp-client.ts';
import { type ListedRole, listedRoles } from '../../kit/servers/role-list.ts';
import {
  createTempWorkspace,
  type TempWorkspace
} from '../../kit/workspaces/temp-workspace.ts';

let workspace: TempWorkspace;
let server: McpClient | undefined;

beforeEach(() => {
  workspace = createTempWorkspace();
});

afterEach(async () => {
  expect(server?.impurities ?? []).toEqual([]);
  await server?.close();
  workspace.remove();
});

const short = 'Short.';

/** Roles: every tenth has a short description, the rest a long one. */
function writeRoles(count: number, long: string): void {
  for (let index = 0; index < count; index += 1) {
    const description = JSON.stringify(index % 10 === 0 ? short : long);
    workspace.write(
      `agents/own-${index}.md`,
      `---\nname: Number ${index}\ndescription: ${description}\n---\nYou do.\n`
    );
  }
}

/** The list as a client of this name gets it; all ids and names are there. */
async function rolesFor(clientName: string, count: number) {
  server = await startServer(workspace, { clientName });
  const roles = await listedRoles(server);
  const own = roles.filter(({ id }) => id.startsWith('own-'));
  expect(own).toHaveLength(count);
  for (const { id, name } of own)
    expect(name).toBe(id.replace('own-', 'Number '));
  expect(roles.length).toBeGreaterThanOrEqual(count + 24);
  return { roles, own, json: JSON.stringify({ roles }) };
}

/** As they stand in JSON. */
function lengthsOf(roles: ListedRole[]): number[] {
  return roles.flatMap(({ description }) =>
    description?.endsWith('…') ? JSON.stringify(description).length - 2 : []
  );
}

test('built-in roles alone are listed with their whole descriptions', async () => {
  for (const client of ['troupe-test', 'codex-mcp-client', 'claude-code']) {
    const { roles, json } = await rolesFor(client, 0);
    expect(json.includes('…')).toBe(false);
    for (const { description } of roles) expect(description).toMatch(/\.$/);
    await server?.close();
  }
});

test.each([
  ['words', 'A long description with many words. '.repeat(60)],
  ['what JSON writes longer', 'He said "no" \\ "yes". '.repeat(80)],
  ['letters of several bytes', '役割の説明がここにあります。'.repeat(100)],
  ['letters of two units', '🎭🎪'.repeat(400)]
])(
  'descriptions of %s are shortened evenly into 20,000 characters',
  async (_, long) => {
    writeRoles(200, long.trim());
    const { roles, own, json } = await rolesFor('troupe-test', 200);
    expect(json.length).toBeLessThanOrEqual(20_000);
    expect(json.length).toBeGreaterThan(19_000);
    const lengths = lengthsOf(roles);
    expect(lengths.length).toBeGreaterThanOrEqual(180);
    expect(Math.max(...lengths) - Math.min(...lengths)).toBeLessThanOrEqual(12);
    for (const { id, description = '' } of own)
      if (id.endsWith('0')) expect(description).toBe(short);
      else expect(long.startsWith(description.slice(0, -1))).toBe(true);
    expect(/\\ud[89a-f]/.test(json)).toBe(false);
  }
);

test('what is not too long together is not shortened', async () => {
  writeRoles(40, '役'.repeat(270));
  const { json } = await rolesFor('troupe-test', 40);
  expect(Buffer.byteLength(json)).toBeGreaterThan(30_000);
  expect(json.length).toBeLessThanOrEqual(20_000);
  expect(json.includes('…')).toBe(false);
});

test('for a client that takes less, descriptions are shortened into that', async () => {
  writeRoles(80, 'Ein Gedanke über Größe. '.repeat(60).trim());
  const { roles, json } = await rolesFor('codex-mcp-client', 80);
  expect(Buffer.byteLength(json)).toBeLessThanOrEqual(11_500);
  expect(Buffer.byteLength(json)).toBeGreaterThan(10_500);
  const lengths = lengthsOf(roles);
  expect(Math.max(...lengths) - Math.min(...lengths)).toBeLessThanOrEqual(8);
  expect(Math.min(...lengths)).toBeGreaterThan(20);
});

test('of 500 roles all ids and names have room in 20,000 characters', async () => {
  writeRoles(500, 'x'.repeat(2000));
  for (const client of ['troupe-test', 'codex-mcp-client']) {
    const { roles, json } = await rolesFor(client, 500);
    expect(json.length).toBeLessThanOrEqual(20_000);
    expect(roles.every(({ description }) => description === undefined)).toBe(
      true
    );
    await server?.close();
  }
});

test('an overlong name does not crowd out the rest', async () => {
  workspace.write('agents/loud.md', `---\nname: ${'N'.repeat(15_000)}\n---\nx`);
  server = await startServer(workspace);
  const roles = await listedRoles(server);
  const loud = roles.find(({ id }) => id === 'loud');
  expect(loud?.name).toBe(`${'N'.repeat(200)}…`);
  expect(/[^N]…/.test(JSON.stringify(roles))).toBe(false);
});
