// The programs of the graphics card. A tile is a rectangle whose samples are looked up one by one: nothing is smoothed,
// because a value between two pixels was never measured.

const QUAD = `#version 300 es
uniform vec4 rect; // left, top, width, height in device coordinates
out vec2 place;
void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  place = corner;
  gl_Position = vec4(rect.xy + corner * rect.zw, 0.0, 1.0);
}`;

const HEAD = `#version 300 es
precision highp float;
precision highp int;
precision highp usampler2D;
precision highp isampler2D;
precision highp sampler2D;
in vec2 place;
out vec4 shown;
`;

const LOOK_UP = `
ivec2 here() {
  ivec2 size = textureSize(samples, 0);
  return min(ivec2(place * vec2(size)), size - 1);
}
`;

// `kind` is the sampler of the texture's type: u for unsigned, i for signed integers, nothing for floats.
function channelShader(kind) {
  return `${HEAD}
uniform ${kind}sampler2D samples;
uniform vec2 range; // start, and one over the length
uniform float gamma;
uniform vec3 color;
${LOOK_UP}
void main() {
  float value = float(texelFetch(samples, here(), 0).r);
  if (isnan(value) || value != value) {
    shown = vec4(0.0, 0.0, 0.0, 1.0);
    return;
  }
  shown = vec4(color * pow(clamp((value - range.x) * range.y, 0.0, 1.0), gamma), 1.0);
}`;
}

// If no label has a colour, each gets a colour computed from its value: steps of the golden section, here in units of
// 1/2³², never come close to an earlier place. The server's pictures have the same colours (images/render.py).
const LABELS = `${HEAD}
uniform usampler2D samples;
uniform sampler2D table;
uniform ivec2 tableSize; // 0, 0: no label has a colour
${LOOK_UP}
vec4 made(uint value) {
  float turn = float(((value & 0xffffffu) * 2654435769u) >> 8) / 16777216.0;
  return vec4((155.0 + 100.0 * cos(6.2831853 * (turn + vec3(0.0, 1.0, 2.0) / 3.0))) / 255.0, 1.0);
}
void main() {
  uint value = texelFetch(samples, here(), 0).r;
  vec4 given = vec4(0.0);
  if (value < uint(tableSize.x * tableSize.y)) {
    given = texelFetch(table, ivec2(int(value) % tableSize.x, int(value) / tableSize.x), 0);
  }
  if (given == vec4(0.0) && value != 0u) given = tableSize.x == 0 ? made(value) : vec4(vec3(128.0 / 255.0), 1.0);
  shown = given;
}`;

const LAYER = `${HEAD}
uniform sampler2D samples;
uniform float opacity;
void main() {
  vec4 found = texture(samples, place);
  shown = vec4(found.rgb, found.a * opacity);
}`;

export const PROGRAMS = {
  u: [QUAD, channelShader("u")],
  i: [QUAD, channelShader("i")],
  f: [QUAD, channelShader("")],
  labels: [QUAD, LABELS],
  layer: [QUAD, LAYER],
};
