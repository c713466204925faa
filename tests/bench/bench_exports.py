"""Exports of real architectures beside PyTorch's own counts: `PYTHONPATH=compiler python tests/bench/bench_exports.py`.

Needs torch, torchvision, transformers and onnxscript, which are not installed for the tests: make an environment of
their own and install astrac there. Weights are random and small, nothing is downloaded. Of each model, the parameters
are compared with the unique ones of the module, and FLOPs forward and backward with `torch.utils.flop_counter`, which
counts products and convolutions as `flops`, `input_gradient_flops` and `weight_gradient_flops` do here. Modules are
exported as they train and without the exporter's optimizer: in evaluation it folds norms into convolutions and slices
of position tables into smaller ones, and then the file does not hold what the module trains.

Exits with 1 when a figure differs that is not in DIFFERENCES, each with its reason.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import sys
import tempfile
import warnings
from pathlib import Path

import torch
import torchvision.models as vision
import transformers as hf
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from astrac import cli

SMALL = {
    "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": 512,
    "max_position_embeddings": 64,
}  # fmt: skip
DIFFERENCES: dict[str, str] = {}
"""Models whose figures differ, with the reason."""

IMAGES = {
    "alexnet": 224, "vgg11_bn": 224, "resnet18": 224, "resnet50": 224, "resnext50_32x4d": 224, "wide_resnet50_2": 224,
    "densenet121": 224, "mobilenet_v2": 224, "mobilenet_v3_small": 224, "mnasnet1_0": 224, "shufflenet_v2_x1_0": 224,
    "squeezenet1_1": 224, "efficientnet_b0": 224, "efficientnet_v2_s": 224, "regnet_y_400mf": 224, "convnext_tiny": 224,
    "vit_b_16": 224, "swin_t": 224, "maxvit_t": 224,
}  # fmt: skip
TEXTS = {
    "bert": lambda: hf.BertForSequenceClassification(hf.BertConfig(**SMALL)),
    "roberta": lambda: hf.RobertaForSequenceClassification(hf.RobertaConfig(**SMALL | {"max_position_embeddings": 80})),
    "distilbert": lambda: hf.DistilBertForSequenceClassification(
        hf.DistilBertConfig(dim=64, n_layers=2, n_heads=4, hidden_dim=128, vocab_size=512, max_position_embeddings=64)
    ),
    "electra": lambda: hf.ElectraForSequenceClassification(hf.ElectraConfig(**SMALL, embedding_size=64)),
    "gpt2": lambda: hf.GPT2LMHeadModel(hf.GPT2Config(n_embd=64, n_layer=2, n_head=4, vocab_size=512, n_positions=64)),
    "gpt_neox": lambda: hf.GPTNeoXForCausalLM(hf.GPTNeoXConfig(**SMALL)),
    "opt": lambda: hf.OPTForCausalLM(
        hf.OPTConfig(
            hidden_size=64, num_hidden_layers=2, num_attention_heads=4, ffn_dim=128, vocab_size=512,
            max_position_embeddings=64, word_embed_proj_dim=64,
        )
    ),
    "llama": lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**SMALL, num_key_value_heads=2)),
    "mistral": lambda: hf.MistralForCausalLM(hf.MistralConfig(**SMALL, num_key_value_heads=2)),
    "qwen2": lambda: hf.Qwen2ForCausalLM(hf.Qwen2Config(**SMALL, num_key_value_heads=2)),
    "phi": lambda: hf.PhiForCausalLM(hf.PhiConfig(**SMALL)),
    "gemma": lambda: hf.GemmaForCausalLM(hf.GemmaConfig(**SMALL, num_key_value_heads=2, head_dim=16)),
}  # fmt: skip


class Logits(torch.nn.Module):
    """The first output alone, without caches: what a training step differentiates."""

    def __init__(self, inner: torch.nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        """Of whatever the module gives, the tensor with the logits."""
        found = self.inner(*inputs)
        return found if isinstance(found, torch.Tensor) else found.logits


def models(names: list[str]) -> list[tuple[str, torch.nn.Module, torch.Tensor]]:
    """Name, module and input of each model, or of those named."""
    found = []
    for name, size in IMAGES.items():
        if not names or name in names:
            found.append((name, Logits(vision.get_model(name, weights=None)), torch.randn(1, 3, size, size)))
    for name, make in TEXTS.items():
        if not names or name in names:
            module = make()
            module.config.use_cache = False
            found.append((name, Logits(module), torch.randint(2, 512, (1, 64))))
    return found


def convolution_backward(grad: list[int], value: list[int], weight: list[int], *rest: object, **_: object) -> int:
    """FLOPs of a convolution's gradients; torch's own formula takes a grouped weight's for an ungrouped one."""
    del value
    batch, _, *extents = grad
    each = 2 * batch * math.prod(extents) * math.prod(weight)
    masks = next(item for item in reversed(rest) if isinstance(item, list | tuple) and len(item) == len("xwb"))
    return each * sum(map(bool, masks[:2]))


def of_torch(module: torch.nn.Module, value: torch.Tensor) -> tuple[int, int]:
    """Unique trained parameters, and FLOPs of products and convolutions forward and backward."""
    module.train()
    for part in module.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    mapping = {torch.ops.aten.convolution_backward: convolution_backward}
    counter = FlopCounterMode(display=False, custom_mapping=mapping)
    with counter, sdpa_kernel(SDPBackend.MATH):  # fused kernels are not counted on a CPU
        module(value).sum().backward()
    return sum(weight.numel() for weight in module.parameters()), counter.get_total_flops()


def export(module: torch.nn.Module, value: torch.Tensor, path: Path, *, dynamo: bool) -> None:
    """Writes the module as it trains."""
    if dynamo:
        torch.onnx.export(module, (value,), str(path), dynamo=True, optimize=False, verbose=False)
    else:
        mode = torch.onnx.TrainingMode.TRAINING
        torch.onnx.export(module, (value,), str(path), dynamo=False, training=mode, do_constant_folding=False)


def of_astrac(path: Path) -> tuple[int, int]:
    """What `astrac layers` says of the file."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        status = cli.main(["layers", str(path), "--format", "json", "--all"])
    if status:
        raise RuntimeError(out.getvalue()[:400])
    totals = json.loads(out.getvalue())["totals"]
    flops = totals["flops"] + totals["input_gradient_flops"] + totals["weight_gradient_flops"]
    return totals["params"], flops


def main() -> int:
    """Compares all models, or those named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--exporter", choices=("dynamo", "torchscript"), default="dynamo")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    wrong = 0
    print(f"{'model':20} {'parameters':>12} {'of torch':>12} {'FLOP f+b':>15} {'of torch':>15}")
    with tempfile.TemporaryDirectory() as folder:
        for name, module, value in models(options.names):
            path = Path(folder) / f"{name}.onnx"
            expected = of_torch(module, value)
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    export(module, value, path, dynamo=options.exporter == "dynamo")
                found = of_astrac(path)
            except Exception as error:  # noqa: BLE001 - an exporter may fail in any way; the row says so
                print(f"{name:20} {type(error).__name__}: {str(error)[:160]!r}", flush=True)
                wrong += name not in DIFFERENCES
                continue
            same = found == expected
            mark = "" if same else f"  {DIFFERENCES.get(name, 'DIFFERS')}"
            print(f"{name:20} {found[0]:12,} {expected[0]:12,} {found[1]:15,} {expected[1]:15,}{mark}", flush=True)
            wrong += not same and name not in DIFFERENCES
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
