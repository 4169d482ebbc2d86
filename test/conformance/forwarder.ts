import { createServer, request } from 'node:http';
import { pipeline } from 'node:stream';

/**
 * A server on loopback that passes on what it gets and adds the token, which
 * the conformance suite has no means to send. Host and Origin stay as they
 * are, and answers too.
 */
export async function forward(url: string, token: string) {
  const target = new URL(url);
  const server = createServer((asked, answer) => {
    const passed = request(
      {
        host: target.hostname,
        port: target.port,
        method: asked.method,
        path: asked.url,
        headers: { ...asked.headers, authorization: `Bearer ${token}` }
      },
      (response) => {
        answer.writeHead(response.statusCode ?? 502, response.headers);
        // An event stream begins before its first event.
        answer.flushHeaders();
        pipeline(response, answer, () => undefined);
      }
    );
    passed.on('error', () => answer.destroy());
    answer.on('close', () => passed.destroy());
    pipeline(asked, passed, () => undefined);
  });
  await new Promise<void>((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve())
  );
  const bound = server.address();
  const port = typeof bound === 'object' && bound ? bound.port : 0;
  return {
    url: `http://localhost:${port}/mcp`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      })
  };
}
