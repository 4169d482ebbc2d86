/**
 * Keeps connections to a server open that never finish their first request,
 * and opens another one for each that the server closes.
 *
 *     node http-crowd.mjs PORT COUNT
 *
 * Prints "full" when COUNT connections have been opened. Ends with its stdin.
 */
import { connect } from 'node:net';

const [port, count] = process.argv.slice(2).map(Number);
let opened = 0;

for (let at = 0; at < count; at += 1) hold();

process.stdin.resume().on('end', () => process.exit());

function hold() {
  const socket = connect(port, '127.0.0.1');
  socket.once('connect', () => {
    opened += 1;
    if (opened === count) console.log('full');
    socket.write('POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: ');
  });
  socket.on('error', () => undefined);
  socket.once('close', () => setImmediate(hold));
}
