/**
 * The same `fetch`, whose event streams hold only what Google's SDK reads. It
 * takes an event for text when `data:` is its very first line, so a comment or
 * a name that a gateway puts before that would cost a piece of the answer.
 */
export function withPlainEvents(
  fetch: typeof globalThis.fetch
): typeof globalThis.fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    const { body, headers, status, statusText } = response;
    const isStream = /^text\/event-stream/i.test(
      headers.get('content-type') ?? ''
    );
    if (!body || !isStream) return response;
    const plain = body
      .pipeThrough(new TextDecoderStream())
      .pipeThrough(plainEvents())
      .pipeThrough(new TextEncoderStream());
    return new Response(plain, { status, statusText, headers });
  };
}

/** An event that was cut off is handed on as it is, to be found out as one. */
function plainEvents(): TransformStream<string, string> {
  let rest = '';
  return new TransformStream({
    transform(piece, controller) {
      const events = (rest + piece).split(endOfEvent);
      rest = events.pop() ?? '';
      for (const event of events) controller.enqueue(plainEvent(event));
    },
    flush(controller) {
      if (rest.trim() !== '') controller.enqueue(rest);
    }
  });
}

const endOfEvent = /\r\n\r\n|\n\n|\r\r/;

function plainEvent(event: string): string {
  const lines = event
    .split(/\r\n|\n|\r/)
    .filter((line) => !/^($|:|event:|id:|retry:)/.test(line));
  const [first = '', ...others] = lines;
  // Lines of one event's data are joined; JSON takes a space there as well.
  const more = others.map((line) => line.replace(/^data:/, ''));
  return `${[first, ...more].join(' ')}\n\n`;
}
