import { createServer } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { withPlainEvents } from './event-stream.ts';

const pieces = [
  '{"text": "eins é"}',
  '{"text": "zwei 한"}',
  '{"text": "drei"}'
];
const plain = pieces.map((piece) => `data: ${piece}\n\n`).join('');

let answer = '';
let type = 'text/event-stream';

/** A byte at a time, as the worst of networks would. */
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

/** Leaves out what carries nothing: the ends of events without data. */
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

test('an event that was cut off stays one', async () => {
  const cut = plain.slice(0, -8);
  expect(await read(cut)).toBe(cut);
});

test('an error between the events is handed on', async () => {
  const error = '{\n "error": {"code": 503}\n}';
  expect(await read(`${plain}${error}`)).toBe(`${plain}${error}`);
});

test('what is no event stream is left as it is', async () => {
  const body = ': no\nevent: stream\n\n';
  expect(await read(body, 'text/plain')).toBe(body);
});
