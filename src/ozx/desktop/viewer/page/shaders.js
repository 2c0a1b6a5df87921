// The programs of the graphics card. A tile is a rectangle whose samples are looked up one by one: nothing is smoothed,
// as a value between two pixels is none that was measured.

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
uniform vec3 color;
${LOOK_UP}
void main() {
  float value = float(texelFetch(samples, here(), 0).r);
  if (isnan(value) || value != value) {
    shown = vec4(0.0, 0.0, 0.0, 1.0);
    return;
  }
  shown = vec4(color * clamp((value - range.x) * range.y, 0.0, 1.0), 1.0);
}`;
}

// Labels that no colour was given get one by their value: neighbouring numbers far apart in hue.
const LABELS = `${HEAD}
uniform usampler2D samples;
uniform sampler2D table;
uniform ivec2 tableSize;
${LOOK_UP}
vec3 hue(float turn) {
  return clamp(abs(fract(turn + vec3(0.0, 2.0 / 3.0, 1.0 / 3.0)) * 6.0 - 3.0) - 1.0, 0.0, 1.0);
}
void main() {
  uint value = texelFetch(samples, here(), 0).r;
  shown = vec4(0.0);
  if (value == 0u) return;
  if (value < uint(tableSize.x * tableSize.y)) {
    vec4 given = texelFetch(table, ivec2(int(value) % tableSize.x, int(value) / tableSize.x), 0);
    if (given != vec4(0.0)) {
      shown = given;
      return;
    }
  }
  uint mixed = value * 2654435769u;
  vec3 bright = hue(float(mixed >> 8) / 16777216.0);
  shown = vec4(mix(vec3(1.0), bright, 0.55 + float(mixed & 255u) / 600.0), 1.0);
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
