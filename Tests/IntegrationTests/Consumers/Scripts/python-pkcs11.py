"""Uses a card with python-pkcs11: python-pkcs11.py MODULE TOKEN FOLDER-OF-CERTIFICATES. 9A and 9D are RSA, 82 is P-384."""

import hashlib
import sys

import pkcs11
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding
from pkcs11 import Attribute, KeyType, MGF, Mechanism, ObjectClass
from pkcs11.util.ec import encode_ecdsa_signature

MODULE, TOKEN, FOLDER = sys.argv[1:]
PIN = "123456"
MESSAGE = b"what is to be signed"
RSA, ALWAYS, MANAGEMENT, EC = b"\x01", b"\x02", b"\x03", b"\x05"
FILES = {RSA: "auth-9a", ALWAYS: "sign-9c", MANAGEMENT: "keymgmt-9d", EC: "hist1-82"}


def certificate(key):
    with open(f"{FOLDER}/{FILES[key]}.crt", "rb") as file:
        return x509.load_pem_x509_certificate(file.read())


def public_key(key):
    return certificate(key).public_key()


def expect(error, action):
    try:
        action()
    except error:
        return
    raise AssertionError(f"{error.__name__} was expected")


token = pkcs11.lib(MODULE).get_token(token_label=TOKEN)


def wrong_pin():
    expect(pkcs11.exceptions.PinIncorrect, lambda: token.open(user_pin="999999"))
    expect(pkcs11.exceptions.PinLenRange, lambda: token.open(user_pin="1234"))
    assert pkcs11.TokenFlag.USER_PIN_COUNT_LOW in pkcs11.lib(MODULE).get_token(token_label=TOKEN).flags


def search():
    with token.open() as session:
        found = list(session.get_objects({Attribute.CLASS: ObjectClass.CERTIFICATE}))
        assert [c[Attribute.ID] for c in found] == [RSA, ALWAYS, MANAGEMENT, EC]
        for found_certificate in found:
            der = certificate(found_certificate[Attribute.ID]).public_bytes(serialization.Encoding.DER)
            assert found_certificate[Attribute.VALUE] == der
        expect(pkcs11.exceptions.NoSuchKey, lambda: session.get_key(ObjectClass.PRIVATE_KEY, id=RSA))
        assert session.get_key(ObjectClass.PUBLIC_KEY, id=EC).key_type == KeyType.EC
    with token.open(user_pin=PIN) as session:
        assert session.get_key(ObjectClass.PRIVATE_KEY, label="PIV Authentication").id == RSA
        expect(pkcs11.exceptions.MultipleObjectsReturned, lambda: session.get_key(ObjectClass.PRIVATE_KEY))


def sign_rsa():
    with token.open(user_pin=PIN) as session:
        key = session.get_key(ObjectClass.PRIVATE_KEY, id=RSA)
        public_key(RSA).verify(key.sign(MESSAGE), MESSAGE, padding.PKCS1v15(), hashes.SHA512())
        for mechanism, digest in [
            (Mechanism.SHA256_RSA_PKCS, hashes.SHA256()), (Mechanism.SHA384_RSA_PKCS, hashes.SHA384()),
        ]:
            signature = key.sign(MESSAGE, mechanism=mechanism)
            public_key(RSA).verify(signature, MESSAGE, padding.PKCS1v15(), digest)
            parts = key.sign((MESSAGE[:5], MESSAGE[5:]), mechanism=mechanism)
            assert parts == signature


def sign_pss():
    scheme = padding.PSS(mgf=padding.MGF1(hashes.SHA256()), salt_length=32)
    parameters = (Mechanism.SHA256, MGF.SHA256, 32)
    with token.open(user_pin=PIN) as session:
        key = session.get_key(ObjectClass.PRIVATE_KEY, id=RSA)
        for mechanism, data in [
            (Mechanism.RSA_PKCS_PSS, hashlib.sha256(MESSAGE).digest()), (Mechanism.SHA256_RSA_PKCS_PSS, MESSAGE),
        ]:
            signature = key.sign(data, mechanism=mechanism, mechanism_param=parameters)
            public_key(RSA).verify(signature, MESSAGE, scheme, hashes.SHA256())


def sign_ecdsa():
    with token.open(user_pin=PIN) as session:
        key = session.get_key(ObjectClass.PRIVATE_KEY, id=EC)
        for mechanism, data in [
            (Mechanism.ECDSA, hashlib.sha384(MESSAGE).digest()), (Mechanism.ECDSA_SHA384, MESSAGE),
        ]:
            signature = encode_ecdsa_signature(key.sign(data, mechanism=mechanism))
            public_key(EC).verify(signature, MESSAGE, ec.ECDSA(hashes.SHA384()))


def sign_with_the_key_that_wants_the_pin_each_time():
    def check(signature):
        public_key(ALWAYS).verify(encode_ecdsa_signature(signature), MESSAGE, ec.ECDSA(hashes.SHA256()))

    with token.open(user_pin=PIN) as session:
        key = session.get_key(ObjectClass.PRIVATE_KEY, id=ALWAYS)
        # The login right before counts for one signature, after that it takes the PIN once more for each.
        check(key.sign(MESSAGE, mechanism=Mechanism.ECDSA_SHA256))
        expect(pkcs11.exceptions.UserNotLoggedIn, lambda: key.sign(MESSAGE, mechanism=Mechanism.ECDSA_SHA256))
        for _ in range(2):
            check(key.sign(MESSAGE, mechanism=Mechanism.ECDSA_SHA256, pin=PIN))


def verify_and_encrypt_in_software():
    with token.open(user_pin=PIN) as session:
        key = session.get_key(ObjectClass.PRIVATE_KEY, id=RSA)
        public = session.get_key(ObjectClass.PUBLIC_KEY, id=RSA)
        signature = key.sign(MESSAGE, mechanism=Mechanism.SHA256_RSA_PKCS)
        assert public.verify(MESSAGE, signature, mechanism=Mechanism.SHA256_RSA_PKCS)
        assert not public.verify(MESSAGE + b"!", signature, mechanism=Mechanism.SHA256_RSA_PKCS)
        sealed = session.get_key(ObjectClass.PUBLIC_KEY, id=MANAGEMENT).encrypt(MESSAGE, mechanism=Mechanism.RSA_PKCS)
        management = session.get_key(ObjectClass.PRIVATE_KEY, id=MANAGEMENT)
        assert management.decrypt(sealed, mechanism=Mechanism.RSA_PKCS) == MESSAGE


def decrypt():
    scheme = padding.OAEP(mgf=padding.MGF1(hashes.SHA256()), algorithm=hashes.SHA256(), label=None)
    with token.open(user_pin=PIN) as session:
        key = session.get_key(ObjectClass.PRIVATE_KEY, id=MANAGEMENT)
        sealed = public_key(MANAGEMENT).encrypt(MESSAGE, padding.PKCS1v15())
        assert key.decrypt(sealed, mechanism=Mechanism.RSA_PKCS) == MESSAGE
        sealed = public_key(MANAGEMENT).encrypt(MESSAGE, scheme)
        parameters = (Mechanism.SHA256, MGF.SHA256, None)
        assert key.decrypt(sealed, mechanism=Mechanism.RSA_PKCS_OAEP, mechanism_param=parameters) == MESSAGE


def derive():
    ours = ec.generate_private_key(ec.SECP384R1())
    point = ours.public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
    with token.open(user_pin=PIN) as session:
        key = session.get_key(ObjectClass.PRIVATE_KEY, id=EC)
        secret = key.derive_key(
            KeyType.GENERIC_SECRET, 384, mechanism_param=(pkcs11.KDF.NULL, None, point),
            template={Attribute.SENSITIVE: False, Attribute.EXTRACTABLE: True})
        assert secret[Attribute.VALUE] == ours.exchange(ec.ECDH(), public_key(EC))


def digest_and_random():
    with token.open() as session:
        for mechanism, name in [(Mechanism.SHA_1, "sha1"), (Mechanism.SHA256, "sha256"), (Mechanism.SHA512, "sha512")]:
            assert session.digest(MESSAGE, mechanism=mechanism) == hashlib.new(name, MESSAGE).digest()
        assert len(session.generate_random(256)) == 32


def writing():
    with token.open(user_pin=PIN, rw=True) as session:
        key = session.get_key(ObjectClass.PRIVATE_KEY, id=RSA)
        expect(pkcs11.exceptions.TokenWriteProtected, key.destroy)
        expect(pkcs11.exceptions.TokenWriteProtected, lambda: session.generate_keypair(KeyType.RSA, 2048, store=True))


for case in [
    wrong_pin, search, sign_rsa, sign_pss, sign_ecdsa, sign_with_the_key_that_wants_the_pin_each_time,
    verify_and_encrypt_in_software, decrypt, derive, digest_and_random, writing,
]:
    case()
    print(case.__name__)
print("all cases passed")
