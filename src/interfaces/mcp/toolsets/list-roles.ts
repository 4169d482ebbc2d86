import {
  type Facts,
  type Form,
  type Part,
  type Room,
  sizeOf,
  tellWithin
} from '../../../core/runs/fit.ts';
import { shortName } from '../../../core/runs/parts.ts';
import { inlineChars } from '../../../core/runs/report.ts';
import type { Role } from '../../../core/squads/role-file.ts';
import { limitsOf } from '../clients.ts';

/**
 * All roles, always with id and name; where they are many, with as much of
 * their descriptions as there is room for, and with none if there is no room.
 */
export function listRoles(roles: Role[], clientName: string): Facts {
  const named = roles.map(({ id, name }) => ({ id, name: shortName(name) }));
  const least = { roles: named.map((role) => ({ ...role, description: '' })) };
  const { answerBytes: bytes } = limitsOf(clientName);
  const chars = inlineChars - JSON.stringify(least).length;
  if (chars < 0 || sizeOf(least) >= bytes) return { roles: named };
  const form: Form = {
    least: 0,
    answer: (told) => ({
      roles: roles.map(({ description }, index) => ({
        ...named[index],
        ...told(descriptionPart(description))
      }))
    })
  };
  return tellWithin([form], { chars, bytes });
}

/** Counted as it stands in the answer, where a quote takes two characters. */
function descriptionPart(description: string): Part {
  return {
    chars: JSON.stringify(description).length - 2,
    within: (room) => ({ description: shortened(description, room) })
  };
}

/** The beginning, and a mark; nothing where not even those have room. */
function shortened(description: string, room: Room): string {
  const json = JSON.stringify(description);
  const isAll = json.length - 2 <= room.chars;
  if (isAll && sizeOf({ description }) <= room.bytes) return description;
  let chars = room.chars - '…'.length;
  let bytes = room.bytes - sizeOf({ description: '…' });
  let shown = '';
  for (const letter of description) {
    const written = JSON.stringify(letter).slice(1, -1);
    chars -= written.length;
    bytes -= Buffer.byteLength(written);
    if (chars < 0 || bytes < 0) break;
    shown += letter;
  }
  return shown === '' ? '' : `${shown.trimEnd()}…`;
}
