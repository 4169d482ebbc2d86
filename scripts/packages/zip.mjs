import { crc32, deflateRawSync } from 'node:zlib';

/** The earliest time of the format: the same files give the same bytes. */
const earliest = { time: 0, date: (1 << 5) | 1 };

/** Regular files, readable by all. None has to be executable. */
const mode = (0o100644 << 16) >>> 0;

/**
 * Creates a deflated zip archive without entries for directories.
 * @param {Map<string, Buffer>} files path → content
 * @returns {Buffer}
 */
export function zip(files) {
  const parts = [];
  const directory = [];
  let offset = 0;
  for (const [path, content] of files) {
    const name = Buffer.from(path);
    const packed = deflateRawSync(content, { level: 9 });
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    // Flag: names are UTF-8. Method: deflate.
    common.writeUInt16LE(0x0800, 2);
    common.writeUInt16LE(8, 4);
    common.writeUInt16LE(earliest.time, 6);
    common.writeUInt16LE(earliest.date, 8);
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(content.length, 18);
    common.writeUInt16LE(name.length, 22);
    parts.push(Buffer.from('PK\x03\x04'), common, name, packed);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(mode, 6);
    rest.writeUInt32LE(offset, 10);
    // Made on Unix, so that readers use the mode.
    const madeBy = Buffer.from([20, 3]);
    directory.push(Buffer.from('PK\x01\x02'), madeBy, common, rest, name);
    offset += 4 + common.length + name.length + packed.length;
  }
  const entries = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(files.size, 4);
  end.writeUInt16LE(files.size, 6);
  end.writeUInt32LE(entries.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, entries, Buffer.from('PK\x05\x06'), end]);
}
