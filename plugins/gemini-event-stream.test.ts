import { createServer } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withPlainEvents } from './gemini.ts';

const pieces = [
  '{"text": "eins é"}',
  '{"text": "zwei 한"}',
  '{"text": "drei"}'
];
const plain = pieces.map((piece) => `data: ${piece}\n\n`).join('');

let answer = '';
let type = 'text/event-stream';

/** Sends one byte at a time, as the worst network would. */
const server = createServer(async (_, response) => {
  response.writeHead(200, { 'content-type': type });
  for (const byte of Buffer.from(answer)) {
    if (!response.write(Buffer.of(byte)))
      await new Promise((resolve) => response.once('drain', resolve));
  }
  response.end();
});

beforeAll(
  () => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
);
afterAll(() => server.close());

async function read(body: string, contentType = 'text/event-stream') {
  answer = body;
  type = contentType;
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const response = await withPlainEvents(fetch)(`http://127.0.0.1:${port}/`);
  return response.text();
}

/** Leaves out empty chunks, such as the ends of events without data. */
async function readEvents(body: string): Promise<string> {
  const events = (await read(body)).split('\n\n').filter(Boolean);
  return events.map((event) => `${event}\n\n`).join('');
}

test.each([
  ['as they should be', plain],
  ['with Windows line ends', plain.replaceAll('\n', '\r\n')],
  ['with old line ends', plain.replaceAll('\n', '\r')],
  ['after a comment', `: connected\n\n${plain}`],
  ['behind a comment', plain.replaceAll('data: {', ': ping\ndata: {')],
  [
    'with names and numbers',
    plain.replaceAll('data: {', 'event: message\nid: 7\nretry: 10\ndata: {')
  ],
  ['named behind their data', plain.replaceAll('}\n', '}\nevent: message\n')],
  ['over several lines', plain.replaceAll(' "', '\ndata: "')],
  ['apart by more than an empty line', plain.replaceAll('\n\n', '\n\n\n')]
])('events %s come as data alone', async (_, body) => {
  const events = await readEvents(body);
  expect(events.replaceAll('  ', ' ').replaceAll('{ "', '{"')).toBe(
    plain.replaceAll('{ "', '{"')
  );
});

test('a truncated event stays truncated', async () => {
  const cut = plain.slice(0, -8);
  expect(await read(cut)).toBe(cut);
});

test('an error between the events is passed on', async () => {
  const error = '{\n "error": {"code": 503}\n}';
  expect(await read(`${plain}${error}`)).toBe(`${plain}${error}`);
});

test('a body that is not an event stream is unchanged', async () => {
  const body = ': no\nevent: stream\n\n';
  expect(await read(body, 'text/plain')).toBe(body);
});
