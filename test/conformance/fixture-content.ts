/** One red pixel, as PNG. */
const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';

/** No sound at all, as WAV. */
const wav = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=';

export const image = {
  type: 'image' as const,
  data: png,
  mimeType: 'image/png'
};

export const audio = {
  type: 'audio' as const,
  data: wav,
  mimeType: 'audio/wav'
};

export function text(words: string) {
  return { type: 'text' as const, text: words };
}

export function embedded(uri: string, mimeType: string, words: string) {
  return {
    type: 'resource' as const,
    resource: { uri, mimeType, text: words }
  };
}
